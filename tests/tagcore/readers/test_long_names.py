"""Names in a file may be of any length, messages about them may not."""

from pathlib import Path

import pytest

from tagcore.readers import open_source
from tagcore.readers.rcv1.taxonomy import read_taxonomy

LONG = "a" * 900
ARFF = "@relation r\n@attribute {name} {kind}\n@attribute x {{0,1}}\n@data\n1,0\n"
LABELS = "<labels><label name='x'/>{more}</labels>"
CASES: dict[str, dict[str, str]] = {
    "a type of KEEL": {"a.dat": f"@relation r\n@attribute {LONG} [0,1]\n@attribute c {{x}}\n@data\n1,x\n"},
    "a type of ARFF": {"a.arff": ARFF.format(name=LONG, kind="date"), "a.xml": LABELS.format(more="")},
    "a label twice": {
        "a.arff": ARFF.format(name="b", kind="real"),
        "a.xml": LABELS.format(more=f"<label name='{LONG}'/><label name='{LONG}'/>"),
    },
    "a label that is no attribute": {
        "a.arff": ARFF.format(name="b", kind="real"),
        "a.xml": LABELS.format(more=f"<label name='{LONG}'/>"),
    },
    "other attributes": {
        "a-train.arff": ARFF.format(name="b", kind="real"),
        "a-test.arff": ARFF.format(name=LONG, kind="real"),
        "a.xml": LABELS.format(more=""),
    },
    "letters of labels": {
        "a.arff": ARFF.format(name="b", kind="real"),
        "a.xml": f"<?xml version='1.0' encoding='{LONG}'?>" + LABELS.format(more=""),
    },
    "letters of posts": {"Posts.xml": f"<?xml version='1.0' encoding='{LONG}'?><posts><row/></posts>"},
    "two roots": {"tree": f"Root\tA\n{LONG}\tB\n"},
    "a circle": {"tree": f"Root\tA\n{LONG}\t{LONG}b\n{LONG}b\t{LONG}\n"},
}


@pytest.mark.parametrize("files", CASES.values(), ids=CASES)
def test_messages_do_not_repeat_a_name_of_any_length(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"a{50}… ") as caught:
        _read(tmp_path, files)
    assert len(str(caught.value)) < 800


def _read(folder: Path, files: dict[str, str]) -> None:
    if "tree" in files:
        read_taxonomy(folder / "tree")
    elif "a.dat" in files:
        open_source(folder / "a.dat", format="uci")
    else:
        list(open_source(folder).blocks())
