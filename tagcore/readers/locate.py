"""Which files a path stands for, and their format: by a card, by name, or by how they begin."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tagcore.readers.files import InputFile, Limits, first_bytes, is_zip, zip_members
from tagcore.readers.rejects import ReadError
from tagcore.readers.uci_header import looks_like_table
from tagcore.readers.xc import HEADER

RECOGNISED = (
    "a known data set, JSON Lines (.jsonl, .ndjson), tables (.csv, .tsv), ARFF with Mulan's XML or MEKA's -C (.arff), "
    "Extreme Classification text (first line: rows words tags), svmlight (.svm, .svmlight, .libsvm), Vowpal Wabbit "
    "(.vw), MATLAB (.mat), UCI tables, Reuters-21578 (.sgm), TREC's judgements (.qrels), LYRL2004's vectors, "
    "CiteULike's mult.dat with the files beside it, each also as .gz or in a .zip, or a folder of these"
)
_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".arff": "arff",
    ".sgm": "sgml",
    ".sgml": "sgml",
    ".qrels": "qrels",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
    ".mat": "matlab",
}
_NAMES = {
    re.compile(r"mult\.dat|tag-item\.dat|item-tag\.dat"): "citeulike",
    re.compile(r"lyrl2004_vectors_.+\.dat"): "rcv1",
}
_ARFF = re.compile(rb"\s*(?:%[^\n]*\n\s*)*@relation\s", re.I)
_KEEL = re.compile(rb"@attribute[^\n]*[^\n\w](?:real|integer)[ \t]*\[|@(?:in|out)puts?\s", re.I)
_VW = re.compile(rb"[-+]?\d+(?:,\d+)*[ \t]+(?:'[^\s|]*[ \t]*)?\|[^\s|]*[ \t]+[^\s|]")
_SPLIT = re.compile(r"(?:^|[-_.])(?:(train|trn|training)|(test|tst|testing))(?=[-_.]|$)", re.I)


def locate(path: Path, format_: str | None, limits: Limits) -> tuple[str, list[InputFile]]:
    """(format, files) of a file, a zip or a folder that has no card."""
    if path.is_dir():
        found = [
            (kind, file)
            for child in sorted(path.iterdir())
            if child.is_file() and not child.name.startswith(".")
            for kind, file in _files(child, None, limits)
        ]
    else:
        found = _files(path, format_, limits)
    if format_ is not None:
        found = [(kind, file) for kind, file in found if kind == format_]
    kinds = sorted({kind for kind, _ in found})
    if not found:
        wanted = f"files of format {format_}" if format_ else RECOGNISED
        raise ReadError(f"{path}: not recognised; expected {wanted}")
    if len(kinds) > 1:
        raise ReadError(f"{path}: holds files of several formats, {', '.join(kinds)}; name one by format=...")
    return kinds[0], _parts([file for _, file in found])


def unpacked(file: InputFile) -> list[InputFile]:
    """The members of a zip; any other file itself."""
    if not is_zip(file.path):
        return [file]
    return [InputFile(file.path, member, file.split or _split(member)) for member in zip_members(file.path)]


def _files(path: Path, format_: str | None, limits: Limits) -> list[tuple[str, InputFile]]:
    files = unpacked(InputFile(path, split=_split(path.name)))
    kinds = [(format_ or _format(file, limits), file) for file in files]
    return [(kind, file) for kind, file in kinds if kind is not None]


def _format(file: InputFile, limits: Limits) -> str | None:
    name = _name(file)
    ending = name[name.rfind(".") :] if "." in name else ""
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    for pattern, kind in _NAMES.items():
        if pattern.fullmatch(name.rpartition("/")[2]):
            return kind
    head = first_bytes(file, limits)
    if head.lstrip().startswith(b"{"):
        return "jsonl"
    if _ARFF.match(head):
        return "uci" if _KEEL.search(head) else "arff"
    if _VW.match(head):
        return "vw"
    if looks_like_table(head):
        return "uci"
    return "xc" if HEADER.match(head) else None


def _split(name: str) -> str | None:
    """train or test where the name of the file says so."""
    match = _SPLIT.search(name.rpartition("/")[2])
    if match is None:
        return None
    return "train" if match[1] else "test"


def _parts(files: Sequence[InputFile]) -> list[InputFile]:
    """Train before test where there are both; without the other one a name that says train or test means nothing.

    A file called as the pair is, without train and test, is their union and left out.
    """
    parts = [[f for f in files if f.split == part] for part in ("train", "test")]
    if not all(parts):
        return [replace(file, split=None) for file in files]
    pairs = {_SPLIT.sub("", _name(file)) for part in parts for file in part}
    for file in files:
        if file.split is None and _name(file) not in pairs:
            raise ReadError(f"{file.name}: neither train nor test by its name, expected one of them beside such files")
    return [file for part in parts for file in part]


def _name(file: InputFile) -> str:
    return (file.member or file.path.name).lower().removesuffix(".gz")
