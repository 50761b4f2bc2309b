"""Header of an ARFF file: what its relation says, its attributes, and the line after which its rows start."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tagcore.readers.bad_rows import BadRow, ReadError, not_utf8, shorten
from tagcore.readers.input_files import InputFile, ReadLimits, line_chunks, too_long
from tagcore.readers.lengths import LONGEST
from tagcore.readers.sparse_rows import BORNE_OUT, FREE_COLUMNS, MOST_COLUMNS

COMMENT = "%"  # what a line of a header begins with that says nothing
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(
    rf"@attribute\s+({_QUOTED}|[^\s'\"{{%,][^\s{{]*)(?:\s+|(?=\{{))(\{{.*\}}|[^\s{{%]+)\s*(?:%.*)?", re.I
)
_LABELS = re.compile(r"(?<![\w-])-C\s+(-?\d{1,9})(?!\d)")
_SPLIT = re.compile(r"(?<![\w-])-split-number\s+(\d{1,18})(?!\d)")
_NUMERIC = {"numeric", "real", "integer"}
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_DATA = re.compile(rb"^[ \t]*@data\b", re.I | re.M)


class Attribute(NamedTuple):
    """One column: a word or a tag."""

    name: str
    binary: bool  # {0,1} rather than any number
    line: int


class Header(NamedTuple):
    """`n_labels` and `n_train` are what MEKA writes into the name of the relation, `-C` and `-split-number`."""

    attributes: list[Attribute]
    data_line: int
    n_labels: int | None = None
    n_train: int | None = None


def read_header(file: InputFile, limits: ReadLimits) -> Header:
    """Reads up to the line @data; raises BadRow where a line is no header of ARFF."""
    lines: dict[str, int] = {}
    attributes: list[Attribute] = []
    meka: list[int | None] = [None, None]
    for line, text in header_lines(file, limits):
        word = text.split(None, 1)[0].lower()
        if word == "@data":
            if not attributes:
                raise BadRow(file.name, line, text, "attributes before the data")
            return Header(attributes, line, *meka)
        if word == "@relation":
            matches = [option.search(text) for option in (_LABELS, _SPLIT)]
            meka = [int(match[1]) if match else None for match in matches]
            continue
        attribute = _parse(file, line, text)
        if attribute.name in lines:
            first = lines[attribute.name]
            raise BadRow(file.name, line, attribute.name, f"a name of its own: line {first} has the same")
        lines[attribute.name] = line
        attributes.append(attribute)
        if len(attributes) == FREE_COLUMNS + 1:
            _require_borne_out(file, limits)
        if len(attributes) > MOST_COLUMNS:
            raise BadRow(file.name, line, attribute.name, f"at most {MOST_COLUMNS} attributes")
    what = "no @data line: cut off?" if attributes else "no documents: the file has no ARFF header"
    raise ReadError(f"{file.name}: {what}")


def _require_borne_out(file: InputFile, limits: ReadLimits) -> None:
    """Raises where there are far more attributes than the bytes of the rows could speak of; looks without parsing."""
    attributes = in_rows = 0
    data = None
    for chunk in line_chunks(file, limits):
        data = data or _DATA.search(chunk.data)
        head = chunk.data[: data.start()] if data and not in_rows else b"" if data else chunk.data
        attributes += head.lower().count(b"@attribute")
        in_rows += len(chunk.data) - len(head)
    if in_rows * BORNE_OUT < attributes:
        raise ReadError(
            f"{file.name}: {attributes} attributes, but {in_rows} bytes of rows, expected at least "
            f"{-(-attributes // BORNE_OUT)} where there are more than {FREE_COLUMNS} attributes"
        )


def header_lines(file: InputFile, limits: ReadLimits) -> Iterator[tuple[int, str]]:
    """Reads (line, text) of the lines that are neither blank nor a comment."""
    return ((line, text) for line, text in text_lines(file, limits) if not text.startswith(COMMENT))


def text_lines(file: InputFile, limits: ReadLimits) -> Iterator[tuple[int, str]]:
    """Reads (line, text) of the lines that are not blank."""
    for chunk in line_chunks(file, limits):
        if chunk.too_long:
            raise BadRow(file.name, chunk.line, len(chunk.data), too_long(limits.row_bytes))
        for line, raw in enumerate(chunk.data.split(b"\n"), chunk.line):
            try:
                text = raw.decode().strip()
            except UnicodeDecodeError as error:
                flaw = not_utf8(error)
                raise BadRow(file.name, line, flaw.value, flaw.expected) from None
            if text:
                yield line, text


def _parse(file: InputFile, line: int, text: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if not match:
        raise BadRow(file.name, line, text, "@attribute NAME TYPE")
    name, kind = match.groups()
    if name[0] in "'\"":
        name = _ESCAPED.sub(lambda m: _ESCAPES.get(m[1], m[1]), name[1:-1])
    if len(name) > LONGEST["tag"]:
        raise BadRow(file.name, line, name, f"at most {LONGEST['tag']:,} characters as the name of an attribute")
    if kind.lower() in _NUMERIC:
        return Attribute(name, False, line)
    categories = [c.strip().strip("'\"") for c in kind.strip("{}").split(",")]
    # what a sparse row leaves out is the first category, so the first must be 0
    if kind[0] == "{" and categories in (["0", "1"], ["0"]):
        return Attribute(name, True, line)
    raise BadRow(file.name, line, kind, f"numeric, real, integer or {{0,1}} as the type of attribute {shorten(name)}")
