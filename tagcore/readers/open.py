"""Opening of a Source for whatever a path holds; its format is told by a card, by name, or by how the file begins.

A new format is a `Source` in a file beside this one; `_KINDS` names it, `RECOGNISED` tells users of it, and what tells
its files by ending, name or first bytes stands below.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tagcore.readers.arff.reader import Arff
from tagcore.readers.bad_rows import ReadError
from tagcore.readers.bibsonomy import BibSonomy
from tagcore.readers.bookmark_html import HEAD as _BOOKMARKS
from tagcore.readers.bookmark_html import BookmarkHtml
from tagcore.readers.cards import recognise, split_name
from tagcore.readers.citeulike import CiteULike
from tagcore.readers.csv_documents import Csv
from tagcore.readers.dates import undated
from tagcore.readers.hetrec import HetRecBookmarks
from tagcore.readers.input_files import InputFile, ReadLimits, errors_named, first_bytes, is_zip, zip_members
from tagcore.readers.jsonl import Jsonl
from tagcore.readers.matlab.reader import Matlab
from tagcore.readers.media_jsonl import LOOKS as _MEDIA
from tagcore.readers.media_jsonl import MediaJsonl
from tagcore.readers.parquet import MAGIC as _PARQUET
from tagcore.readers.parquet import Parquet
from tagcore.readers.qrels import Qrels
from tagcore.readers.rcv1.reader import Rcv1
from tagcore.readers.records import how_to_name
from tagcore.readers.sgml.reader import Sgml
from tagcore.readers.source import Source
from tagcore.readers.stackexchange import StackExchange
from tagcore.readers.svmlight import Svmlight
from tagcore.readers.uci.header import looks_like_table
from tagcore.readers.uci.reader import Uci
from tagcore.readers.vw import VowpalWabbit
from tagcore.readers.web.warc import Warc
from tagcore.readers.xc import HEADER, ExtremeClassification
from tagcore.store.datasets import file_hash

_KINDS = (
    Jsonl,
    Csv,
    Arff,
    ExtremeClassification,
    Sgml,
    Qrels,
    Rcv1,
    CiteULike,
    Svmlight,
    VowpalWabbit,
    Matlab,
    Uci,
    Warc,
    MediaJsonl,
    Parquet,
    StackExchange,
    BookmarkHtml,
    BibSonomy,
    HetRecBookmarks,
)
FORMATS: dict[str, type[Source]] = {kind.format: kind for kind in _KINDS}

RECOGNISED = (
    "a known data set, JSON Lines (.jsonl, .ndjson), tables (.csv, .tsv), ARFF with Mulan's XML or MEKA's -C (.arff), "
    "Extreme Classification text (first line: rows words tags), svmlight (.svm, .svmlight, .libsvm), Vowpal Wabbit "
    "(.vw), MATLAB (.mat), UCI tables, Reuters-21578 (.sgm), TREC's judgements (.qrels), LYRL2004's vectors, "
    "CiteULike's mult.dat with the files beside it, archives of crawls (.warc), parquet (.parquet), "
    "Stack Exchange's Posts.xml, bookmarks as browsers export them (.html), BibSonomy's dumps (tas, bookmark, bibtex), "
    "HetRec's bookmarks.dat, JSON lines of Flickr and YouTube, each also as .gz or in a .zip, or a folder of these"
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
    ".warc": "warc",
    ".parquet": "parquet",
}
_NAMES = {
    re.compile(r"mult\.dat|tag-item\.dat|item-tag\.dat"): "citeulike",
    re.compile(r"lyrl2004_vectors_.+\.dat"): "rcv1",
    re.compile(r"tas|bookmark|bibtex"): "bibsonomy",
    re.compile(r"bookmarks\.dat|user_taggedbookmarks(?:-timestamps)?\.dat"): "hetrec-bookmarks",
}
_JSON = re.compile(rb"\s*\[?\s*\{")  # an array, too, whose reader says how it becomes lines
_POSTS = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<posts[\s>]")
_ARFF = re.compile(rb"\s*(?:%[^\n]*\n\s*)*@relation\s", re.I)
_KEEL = re.compile(rb"@attribute[^\n]*[^\n\w](?:real|integer)[ \t]*\[|@(?:in|out)puts?\s", re.I)
_VW = re.compile(rb"[-+]?\d+(?:,\d+)*[ \t]+(?:'[^\s|]*[ \t]*)?\|[^\s|]*[ \t]+[^\s|]")
_SPLIT = re.compile(r"(?:^|[-_.])(?:(train|trn|training)|(test|tst|testing))(?=[-_.]|$)", re.I)


def open_source(
    path: Path | str, *, skip_bad_rows: Path | str | None = None, format: str | None = None, **options: Any
) -> Source:
    """Opens the documents of a file, of a folder, or of one data set of a folder (FOLDER:NAME).

    The first bad row raises BadRow; with `skip_bad_rows` the bad rows go to that file and reading goes on. A known
    data set is recognised by its card and its counts are compared with it, unless a `format` is named, or options
    other than the card's, which may well give other counts. The options are those of the format: see its class.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format is {format!r}, expected one of {', '.join(FORMATS)}")
    limits = _options(ReadLimits, options, ignore_others=True)
    with errors_named(str(path)):
        folder, name = split_name(path)
        if format is not None and name is not None:
            raise ReadError(f"{path}: {name} is chosen by its card, which knows its format; leave out format={format}")
        _check_there(folder)
        card = recognise(path) if format is None else None
        if card:
            kind = FORMATS[card.format]
            files = [part for file in card.find(folder) or () for part in zip_contents(file)]
            usual = _options(kind.Options, {**card.options, **vars(limits)})
            options = {**card.options, **options}
        else:
            name_of_format, files = find_files(folder, format, limits)
            kind = FORMATS[name_of_format]
        side_file = _side_file(skip_bad_rows, folder)
    chosen = _options(kind.Options, options)
    source = kind(files, chosen, skip_bad_rows=side_file)
    source.card = card if card and chosen == usual else None
    return source


def source_fingerprint(path: Path | str, **options: Any) -> str:
    """Hashes everything that decides what reading gives: format, options and the bytes of all files.

    Ids of documents in several files have the names of these; the date in the name of a single file decides nothing.
    """
    source = open_source(path, **options)
    called = undated if len(source.files) == 1 else str
    identity = {
        "format": source.format,
        "card": source.card.name if source.card else None,
        "options": {f.name: getattr(source.options, f.name) for f in fields(source.options)},
        "files": [[called(f.path.name), f.member, f.split] for f in source.files],
        "bytes": [[called(p.name), file_hash(p)] for p in source.inputs],
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _check_there(path: Path) -> None:
    if not path.exists():
        folder, colon, _ = str(path).rpartition(":")
        named = f", and no folder {folder} with a data set of that name" if colon else ""
        raise ReadError(f"{path}: there is no such file or folder{named}")
    if not path.is_file() and not path.is_dir():
        raise ReadError(f"{path}: neither a file nor a folder")


def _options(kind: type[ReadLimits], given: dict[str, Any], ignore_others: bool = False) -> Any:
    names = [f.name for f in fields(kind)]
    if not ignore_others and (unknown := [name for name in given if name not in names]):
        raise ValueError(f"unknown option {unknown[0]!r}, expected one of {', '.join(names)}")
    return kind(**{name: value for name, value in given.items() if name in names})


def _side_file(path: Path | str | None, data: Path) -> Path | None:
    """Checks the path for rejected rows, which must not become input the next time."""
    if path is None:
        return None
    path = Path(path)
    if path.is_dir():
        raise ReadError(f"{path}: a folder, expected a file for the rejected rows")
    if data.resolve() in (path.resolve(), path.resolve().parent):
        raise ReadError(f"{path}: rejected rows cannot go to where the data is read from")
    return path


def find_files(path: Path, format_: str | None, limits: ReadLimits) -> tuple[str, list[InputFile]]:
    """Finds (format, files) of a file, a zip or a folder that has no card."""
    if path.is_dir():
        recognised = [
            (kind, file)
            for child in sorted(path.iterdir())
            if child.is_file() and not child.name.startswith(".")
            for kind, file in _recognised(child, None, limits)
        ]
    else:
        recognised = _recognised(path, format_, limits)
    if format_ is not None:
        recognised = [(kind, file) for kind, file in recognised if kind == format_]
    kinds = sorted({kind for kind, _ in recognised})
    if not recognised:
        wanted = f"files of format {format_}" if format_ else RECOGNISED
        raise ReadError(f"{path}: not recognised; expected {wanted}")
    if len(kinds) > 1:
        raise ReadError(f"{path}: holds files of several formats, {', '.join(kinds)}: {how_to_name('format')}")
    return kinds[0], _train_before_test([file for _, file in recognised])


def zip_contents(file: InputFile) -> list[InputFile]:
    """Lists the members of a zip; any other file is its own only one."""
    if not is_zip(file.path):
        return [file]
    return [InputFile(file.path, member, file.split or _split(member)) for member in zip_members(file.path)]


def _recognised(path: Path, format_: str | None, limits: ReadLimits) -> list[tuple[str, InputFile]]:
    files = zip_contents(InputFile(path, split=_split(path.name)))
    kinds = [(format_ or _format(file, limits), file) for file in files]
    return [(kind, file) for kind, file in kinds if kind is not None]


def _format(file: InputFile, limits: ReadLimits) -> str | None:
    name = _name(file)
    ending = name[name.rfind(".") :] if "." in name else ""
    if ending in _ENDINGS:
        return "media" if _ENDINGS[ending] == "jsonl" and _looks_like_media(file, limits) else _ENDINGS[ending]
    for pattern, kind in _NAMES.items():
        if pattern.fullmatch(name.rpartition("/")[2]):
            return kind
    head = first_bytes(file, limits)
    if head.startswith(b"WARC/"):
        return "warc"
    if head.startswith(_PARQUET):
        return "parquet"
    if _BOOKMARKS.match(head):
        return "bookmarks"
    if _POSTS.match(head):
        return "stackexchange"
    if _JSON.match(head):
        return "media" if _MEDIA.search(head.partition(b"\n")[0]) else "jsonl"
    if _ARFF.match(head):
        return "uci" if _KEEL.search(head) else "arff"
    if _VW.match(head):
        return "vw"
    if looks_like_table(head):
        return "uci"
    return "xc" if HEADER.match(head) else None


def _looks_like_media(file: InputFile, limits: ReadLimits) -> bool:
    return bool(_MEDIA.search(first_bytes(file, limits).partition(b"\n")[0]))


def _split(name: str) -> str | None:
    """Returns train or test where the name of the file says so."""
    match = _SPLIT.search(name.rpartition("/")[2])
    if match is None:
        return None
    return "train" if match[1] else "test"


def _train_before_test(files: Sequence[InputFile]) -> list[InputFile]:
    """Puts train before test where there are both; without the other one a name that says either means nothing.

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
