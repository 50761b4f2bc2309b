"""Which reader a path gets, cards of known sets, rejected rows, and fingerprints."""

import copy
import json
from pathlib import Path

import pytest

from tagcore.corpus import Corpus, append_block, append_names
from tagcore.readers import cards as cards_module
from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.cards import Card, known_cards, recognise
from tagcore.readers.open import source_fingerprint
from tagcore.store.datasets import write_dataset
from tests.tagcore.readers.helpers import jsonl, read, whole, zipped

CARD = Card(
    name="tiny",
    title="A tiny set",
    source="made up",
    terms="none",
    format="jsonl",
    files={"tiny-train.jsonl": "train", "tiny-test.jsonl": "test"},
    options={"tags": "labels"},
    expected={"train": 2, "test": 1, "tags": 2, "untagged": 1},
)
OTHER = Card(name="other", title="", source="", terms="", format="csv", files={"other.csv.zip": None})


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cards_module, "known_cards", lambda: (CARD, OTHER))
    jsonl(tmp_path / "tiny-train.jsonl", {"text": "a", "labels": ["x"]}, {"text": "b", "labels": ["y"]})
    jsonl(tmp_path / "tiny-test.jsonl", {"text": "c", "labels": []})
    return tmp_path


def test_a_known_set_is_recognised_and_its_counts_are_compared(tiny: Path) -> None:
    assert recognise(tiny) is CARD
    got = read(tiny)
    assert got.source.card is CARD
    assert [d["split"] for d in got.documents] == ["train", "train", "test"]


def test_a_known_set_with_other_counts_is_refused(tiny: Path) -> None:
    with open(tiny / "tiny-test.jsonl", "a") as file:
        file.write('{"text": "d", "labels": ["z"]}\n')
    expected = r"tiny-train.jsonl and 1 more: not .* 'tiny' .*: 2 test \(expected 1\), 3 tags \(expected 2\)"
    with pytest.raises(ReadError, match=expected):
        read(tiny)
    assert len(read(tiny, format="jsonl", tags="labels").documents) == 4


def test_options_other_than_those_of_the_card_may_give_other_counts(tiny: Path) -> None:
    with open(tiny / "tiny-test.jsonl", "a") as file:
        file.write('{"text": "d", "labels": ["z"]}\n')
    got = read(tiny, html=False)
    assert (len(got.documents), got.source.card) == (4, None)
    with pytest.raises(ReadError, match=r"2 test \(expected 1\)"):
        read(tiny, tags="labels", row_bytes=1000)


def test_rejected_rows_of_a_known_set_count_as_rows(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    jsonl(tiny / "tiny-train.jsonl", {"text": "a", "labels": ["x"]}, {"text": 5})
    side = tmp_path_factory.mktemp("side") / "rejected"
    assert read(tiny, skip_bad_rows=side).source.rejected == 1
    jsonl(tiny / "tiny-train.jsonl", {"text": 5})
    with pytest.raises(ReadError, match=r"2 documents \(expected 3\)"):
        read(tiny, skip_bad_rows=side)


def test_a_folder_with_several_known_sets_asks_which(tiny: Path) -> None:
    path = zipped(tiny / "other.csv.zip", other__csv=b"text,tags\nx,a\n")
    with pytest.raises(
        ReadError, match=f"holds 2 data sets; choose one: {tiny}:tiny, {tiny}:other .*or as a file: .*{path}"
    ):
        open_source(tiny)
    assert recognise(f"{tiny}:tiny") is CARD
    assert recognise(path) is recognise(f"{tiny}:other") is OTHER
    assert len(read(f"{tiny}:tiny").documents) == 3
    assert len(read(f"{tiny}:other").documents) == len(read(path).documents) == 1
    with pytest.raises(ReadError, match="no data set called 'third' there; there are tiny, other"):
        open_source(f"{tiny}:third")
    with pytest.raises(ReadError, match="leave out format=csv"):
        open_source(f"{tiny}:other", format="csv")


def test_a_path_with_a_colon_is_a_path(tmp_path: Path) -> None:
    assert read(jsonl(tmp_path / "a:b.jsonl", {"text": "x", "tags": []})).ids == ["1"]


def test_every_card_is_complete() -> None:
    known = {card.name for card in known_cards()}
    assert known >= {"bibtex", "delicious", "enron", "medical", "emotions", "eurlex4k", "biology", "cooking", "crypto"}
    counts = {"documents", "train", "test", "words", "tags", "untagged", "wordless"}
    for card in known_cards():
        assert card.title
        assert card.source
        assert card.terms
        assert set(card.expected) <= counts
        if card.checksums:  # of the others nobody has counted the tags yet
            assert card.expected.keys() >= {"tags", "untagged"}


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.jsonl", b'{"text": "x", "tags": []}', "jsonl"),
        ("a.data", b'\n {"text": "x", "tags": []}', "jsonl"),
        ("a.CSV", b"text,tags\nx,a", "csv"),
        ("a.tsv", b"text\ttags\nx\ta", "csv"),
        ("a.txt", b"1 2 2\n0 1:1\n", "xc"),
        ("noending", b"% hello\n\n@RELATION r\n@attribute a real\n@attribute x {0,1}\n@data\n", "arff"),
    ],
)
def test_formats_by_name_and_by_content(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / f"{name.partition('.')[0]}.xml").write_text("<labels><label name='x'/></labels>")
    assert open_source(tmp_path / name).format == kind


def test_what_is_not_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00\x01")
    with pytest.raises(ReadError, match=r"a.bin: not recognised; expected .*\.jsonl.*\.csv.*ARFF.*Extreme"):
        open_source(tmp_path / "a.bin")
    jsonl(tmp_path / "a.jsonl", {})
    (tmp_path / "b.csv").write_text("text,tags\n")
    with pytest.raises(ReadError, match=r"several formats, csv, jsonl: .*--option format=NAME"):
        open_source(tmp_path)
    assert [f.path.name for f in open_source(tmp_path, format="csv").files] == ["b.csv"]
    with pytest.raises(ValueError, match="expected one of jsonl, csv, arff, xc"):
        open_source(tmp_path, format="xml")
    with pytest.raises(ValueError, match=r"unknown option 'colour', expected one of .*tag_separator"):
        open_source(tmp_path / "b.csv", colour="red")


def test_splits_by_the_names_of_files(tmp_path: Path) -> None:
    row = {"text": "x", "tags": []}
    assert read(jsonl(tmp_path / "my-test.jsonl", row)).documents[0]["split"] is None
    jsonl(tmp_path / "my-train.jsonl", row)
    jsonl(tmp_path / "my.jsonl", row, row)
    got = read(tmp_path)
    assert [(d["id"], d["split"]) for d in got.documents] == [("train:1", "train"), ("test:1", "test")]
    jsonl(tmp_path / "latest.jsonl", row)
    with pytest.raises(ReadError, match=r"latest.jsonl: neither train nor test by its name"):
        read(tmp_path)


def test_rejected_rows_go_to_the_side_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "x", "tags": []}\n{"text": ' + b"9" * 5000 + b'}\n{"text": "caf\xe9"}\n')
    side = tmp_path / "rejected.jsonl"
    side.write_text("of another day")
    source = open_source(path, skip_bad_rows=side)
    for _ in range(2):
        assert len(whole(source).documents) == 1
        assert source.rejected == 2
        first, second = map(json.loads, side.read_text().splitlines())
        assert (first["file"], first["line"], second["line"]) == (str(path), 2, 3)
        assert "expected a JSON object" in first["reason"]
        assert len(first["row"]) == 2000
        assert second["row"] == '{"text": "caf\ufffd"}'


def test_the_side_file_of_a_reading_that_fails_is_not_touched(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"text": 5}, {"text": 6})
    side = tmp_path / "rejected.jsonl"
    side.write_text("of another day")
    with pytest.raises(ReadError, match="no documents: all 2 rows were rejected"):
        read(path, skip_bad_rows=side)
    assert side.read_text() == "of another day"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.jsonl", "rejected.jsonl"]


def test_side_files_that_cannot_be(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"text": "x", "tags": []})
    with pytest.raises(ReadError, match="rejected rows cannot be written there"):
        read(path, skip_bad_rows=tmp_path / "nowhere" / "rejected")
    with pytest.raises(ReadError, match="a folder, expected a file"):
        read(path, skip_bad_rows=tmp_path)
    for data, side in ((path, path), (tmp_path, tmp_path / "rejected.jsonl")):
        with pytest.raises(ReadError, match="where the data is read from"):
            read(data, skip_bad_rows=side)
    assert len(read(path).documents) == 1


def test_the_first_bad_row_raises(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"text": "x"}, {"text": 5}, {"text": 6})
    with pytest.raises(BadRow) as caught:
        read(path)
    assert str(caught.value) == f"{path}, line 2: found 5, expected a string as text"
    again = copy.copy(caught.value)  # as task runners do, which send errors from one process to another
    assert (str(again), again.line) == (str(caught.value), 2)


def test_fingerprints_follow_bytes_names_and_options(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"text": "x", "tags": []})
    first = source_fingerprint(path)
    assert first == source_fingerprint(str(path))
    assert len(first) == 64
    assert first != source_fingerprint(path, html=True)
    assert first != source_fingerprint(path.rename(tmp_path / "b.jsonl"))
    jsonl(tmp_path / "a.jsonl", {"text": "y", "tags": []})
    assert first != source_fingerprint(path)
    (tmp_path / "b.jsonl").unlink()
    assert source_fingerprint(tmp_path) == source_fingerprint(path)


def test_what_is_read_can_be_stored_and_loaded(tmp_path: Path) -> None:
    rows = [{"id": i, "text": f"text {i}", "tags": [f"t{i % 3}", "all"][: i % 3]} for i in range(7)]
    source = open_source(jsonl(tmp_path / "a.jsonl", *rows))
    with write_dataset(tmp_path / "corpus", "corpus") as writer:
        for block in source.blocks(3):
            append_block(writer, block)
        append_names(writer, source.tags, source.words)
    corpus = Corpus.load(tmp_path / "corpus")
    assert corpus.documents["text"].to_pylist() == [row["text"] for row in rows]
    stored = [{corpus.tag_names[tag] for tag in corpus.tags[i].indices} for i in range(7)]
    assert stored == [set(row["tags"]) for row in rows]


def test_counted_words_can_be_stored_and_loaded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("5 3 2\n0 0:1\n 1:2\n1\n0,1 2:3 1:4\n \n")
    source = open_source(tmp_path / "a.txt")
    with write_dataset(tmp_path / "corpus", "corpus") as writer:
        for block in source.blocks(2):
            append_block(writer, block)
        append_names(writer, source.tags, source.words)
    corpus = Corpus.load(tmp_path / "corpus")
    assert corpus.words is not None
    assert corpus.words.toarray().tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 0], [0, 4, 3], [0, 0, 0]]
    assert corpus.tags.toarray().tolist() == [[1, 0], [0, 0], [0, 1], [1, 1], [0, 0]]


def test_the_date_in_the_name_of_one_file_is_no_part_of_its_fingerprint(tmp_path: Path) -> None:
    row = {"text": "x", "tags": ["t"]}
    monday, tuesday = (jsonl(tmp_path / f"notes-2026-11-{day}.jsonl", row) for day in (16, 17))
    assert source_fingerprint(monday) == source_fingerprint(tuesday)
    assert source_fingerprint(monday) != source_fingerprint(jsonl(tmp_path / "others-2026-11-16.jsonl", row))
    both = source_fingerprint(tmp_path)
    (tmp_path / "notes-2026-11-17.jsonl").rename(tmp_path / "notes-2026-11-18.jsonl")
    assert source_fingerprint(tmp_path) != both  # its ids name the files


def test_a_data_set_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=f"no such file or folder, and no folder {tmp_path}/none with a data set"):
        open_source(f"{tmp_path}/none:cooking")
