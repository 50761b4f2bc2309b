"""The way in: a Source for whatever a path holds."""

import hashlib
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from tagcore.readers.arff import Arff
from tagcore.readers.cards import recognise, split_name
from tagcore.readers.citeulike import CiteULike
from tagcore.readers.csvfile import Csv
from tagcore.readers.files import Limits, errors_named
from tagcore.readers.jsonl import Jsonl
from tagcore.readers.locate import locate, unpacked
from tagcore.readers.matlab import Matlab
from tagcore.readers.qrels import Qrels
from tagcore.readers.rcv1 import Vectors
from tagcore.readers.rejects import ReadError
from tagcore.readers.sgml import Sgml
from tagcore.readers.source import Source
from tagcore.readers.svmlight import Svmlight
from tagcore.readers.uci import Uci
from tagcore.readers.vw import VowpalWabbit
from tagcore.readers.xc import ExtremeClassification
from tagcore.store import file_hash

_KINDS = (
    Jsonl,
    Csv,
    Arff,
    ExtremeClassification,
    Sgml,
    Qrels,
    Vectors,
    CiteULike,
    Svmlight,
    VowpalWabbit,
    Matlab,
    Uci,
)
FORMATS: dict[str, type[Source]] = {kind.format: kind for kind in _KINDS}


def open_source(
    path: Path | str, *, skip_bad_rows: Path | str | None = None, format: str | None = None, **options: Any
) -> Source:
    """The documents of a file, of a folder, or of one data set of a folder (FOLDER:NAME).

    The first bad row raises BadRow; with `skip_bad_rows` the bad rows go to that file and reading goes on. A known
    data set is recognised by its card and its counts are compared with it, unless a `format` is named, or options
    other than the card's, which may well give other counts. The options are those of the format: see its class.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format is {format!r}, expected one of {', '.join(FORMATS)}")
    limits = _made(Limits, options, ignore_others=True)
    with errors_named(str(path)):
        folder, name = split_name(path)
        if format is not None and name is not None:
            raise ReadError(f"{path}: {name} is chosen by its card, which knows its format; leave out format={format}")
        _check_there(folder)
        card = recognise(path) if format is None else None
        if card:
            kind = FORMATS[card.format]
            files = [part for file in card.find(folder) or () for part in unpacked(file)]
            usual = _made(kind.Options, {**card.options, **vars(limits)})
            options = {**card.options, **options}
        else:
            found, files = locate(folder, format, limits)
            kind = FORMATS[found]
        side_file = _side_file(skip_bad_rows, folder)
    made = _made(kind.Options, options)
    source = kind(files, made, skip_bad_rows=side_file)
    source.card = card if card and made == usual else None
    return source


def source_fingerprint(path: Path | str, **options: Any) -> str:
    """A hash of everything that decides what reading gives: format, options and the bytes of all files."""
    source = open_source(path, **options)
    known = {
        "format": source.format,
        "card": source.card.name if source.card else None,
        "options": {f.name: getattr(source.options, f.name) for f in fields(source.options)},
        "files": [[f.path.name, f.member, f.split] for f in source.files],
        "bytes": [[p.name, file_hash(p)] for p in source.inputs],
    }
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def _check_there(path: Path) -> None:
    if not path.exists():
        raise ReadError(f"{path}: there is no such file or folder")
    if not path.is_file() and not path.is_dir():
        raise ReadError(f"{path}: neither a file nor a folder")


def _made(kind: type[Limits], given: dict[str, Any], ignore_others: bool = False) -> Any:
    names = [f.name for f in fields(kind)]
    if not ignore_others and (unknown := [name for name in given if name not in names]):
        raise ValueError(f"unknown option {unknown[0]!r}, expected one of {', '.join(names)}")
    return kind(**{name: value for name, value in given.items() if name in names})


def _side_file(path: Path | str | None, data: Path) -> Path | None:
    """The path for rejected rows, which must not become input the next time."""
    if path is None:
        return None
    path = Path(path)
    if path.is_dir():
        raise ReadError(f"{path}: a folder, expected a file for the rejected rows")
    if data.resolve() in (path.resolve(), path.resolve().parent):
        raise ReadError(f"{path}: rejected rows cannot go to where the data is read from")
    return path
