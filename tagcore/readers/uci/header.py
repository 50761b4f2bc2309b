"""Columns of a UCI table: by the header that KEEL puts before it, or by its first row."""

import re
from typing import NamedTuple

from tagcore.readers.arff.header import COMMENT, text_lines
from tagcore.readers.bad_rows import BadRow, ReadError, shorten
from tagcore.readers.input_files import InputFile, ReadLimits

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|[^\s'\"{\[]+)\s*(\S.*)", re.I)
_NUMERIC = re.compile(r"(?:real|integer|numeric)\s*(?:\[[^\]]*\])?\s*", re.I)
_OUTPUTS = re.compile(r"@outputs?\s+(\S.*)", re.I)
_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?\s*", re.I)


class Table(NamedTuple):
    """Columns of a table: `class_column` is where the class stands; the rows begin after `data_line`."""

    names: list[str]
    class_column: int
    data_line: int


class _Attribute(NamedTuple):
    name: str
    kind: str
    line: int


def read_table(file: InputFile, class_column: str | None, limits: ReadLimits) -> Table:
    """Reads the header of KEEL, or the first row where there is none."""
    attributes: dict[str, _Attribute] = {}
    output: str | None = None
    likely_comment: tuple[int, str] | None = None
    for line, text in text_lines(file, limits):
        if text.startswith(COMMENT):
            likely_comment = likely_comment or (line, text)
            continue
        if not text.startswith("@"):
            if attributes:
                raise BadRow(file.name, line, text, "@data after the attributes")
            return _by_first_row(file, line, text, class_column)
        word = text.split(None, 1)[0].lower()
        if word == "@data":
            if not attributes:
                raise BadRow(file.name, line, text, "attributes before the data")
            return _by_attributes(file, line, list(attributes.values()), output, class_column)
        if word == "@attribute":
            attribute = _parse(file, line, text)
            if (first := attributes.setdefault(attribute.name, attribute)).line != line:
                raise BadRow(file.name, line, attribute.name, f"a name of its own: line {first.line} has the same")
        elif match := _OUTPUTS.fullmatch(text):
            output = match[1].strip()
    if attributes:
        raise ReadError(f"{file.name}: no @data line: cut off?")
    if likely_comment:  # a row, where nothing else is there: its class begins as comments do
        return _by_first_row(file, *likely_comment, class_column)
    raise ReadError(f"{file.name}: no documents: the file has no rows")


def looks_like_table(head: bytes) -> bool:
    """Says whether a file begins with a row of at least two numbers and a class."""
    fields = head.partition(b"\n")[0].decode(errors="replace").split(",")
    numbers = [_NUMBER.fullmatch(field) is not None for field in fields]
    return len(fields) > 2 and all(numbers[1:-1]) and (numbers[0] or numbers[-1])


def _by_first_row(file: InputFile, line: int, text: str, class_column: str | None) -> Table:
    fields = text.split(",")
    if len(fields) < 2:
        raise BadRow(file.name, line, text, "at least one number and a class, between commas")
    first = class_column == "first" if class_column else not _NUMBER.fullmatch(fields[0])
    return Table([f"w{i}" for i in range(len(fields) - 1)], 0 if first else len(fields) - 1, 0)


def _by_attributes(
    file: InputFile, line: int, attributes: list[_Attribute], output: str | None, class_column: str | None
) -> Table:
    names = [attribute.name for attribute in attributes]
    if len(names) < 2:
        raise BadRow(file.name, line, names[0], "at least one attribute besides the class")
    at = 0 if class_column == "first" else len(names) - 1
    if class_column is None and output is not None:
        if output not in names:
            raise BadRow(file.name, line, output, "one attribute as the output")
        at = names.index(output)
    for attribute in attributes[:at] + attributes[at + 1 :]:
        if not _NUMERIC.fullmatch(attribute.kind):
            expected = f"real or integer as the type of attribute {shorten(attribute.name)}"
            raise BadRow(file.name, attribute.line, attribute.kind, expected)
    return Table(names[:at] + names[at + 1 :], at, line)


def _parse(file: InputFile, line: int, text: str) -> _Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if not match:
        raise BadRow(file.name, line, text, "@attribute NAME TYPE")
    return _Attribute(match[1].strip("'\""), match[2].strip(), line)
