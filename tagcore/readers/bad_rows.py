"""Errors about input that cannot be read, and the side file of rows that were left out."""

import json
import os
import uuid
from pathlib import Path
from types import TracebackType
from typing import IO, Any

_SHOWN = 80  # characters of a value in a message
_KEPT = 2000  # characters of a row in the side file


class ReadError(ValueError):
    """Input that cannot be read as what it should be; the message names the file."""


class BadRow(ReadError):
    """A row that is not as it should be."""

    def __init__(self, file: str, line: int, value: Any, expected: str) -> None:
        super().__init__(f"{file}, line {line}: found {shorten(value)}, expected {expected}")
        self.file, self.line, self.value, self.expected = file, line, value, expected

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.file, self.line, self.value, self.expected)


class BadValue(Exception):
    """A value that is not as it should be, before it is known in which row of which file."""

    def __init__(self, value: Any, expected: str) -> None:
        super().__init__(value, expected)
        self.value, self.expected = value, expected


class RejectedRows:
    """Bad rows of one pass: raises the first, or with a path writes all of them there, one JSON object a line.

    The side file takes its name when the reading has ended well; until then one that stood before stays.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.count = self.lines = 0
        self._filling = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}") if path else None
        self._out: IO[str] | None = None

    def add(self, file: str, line: int, value: Any, expected: str, row: bytes) -> None:
        """Raises a BadRow, or notes the row in the side file."""
        bad = BadRow(file, line, value, expected)
        if self._out is None:
            raise bad
        self.count += 1
        self.lines += row.rstrip(b"\r\n").count(b"\n") + 1
        text = row[: 4 * _KEPT].decode(errors="replace")
        note = {"file": file, "line": line, "reason": str(bad), "row": text[:_KEPT]}
        self._out.write(json.dumps(note) + "\n")

    def __enter__(self) -> "RejectedRows":
        if self._filling:
            try:
                self._out = open(self._filling, "w", encoding="utf-8")
            except OSError as error:
                raise ReadError(f"{self.path}: rejected rows cannot be written there ({error.strerror})") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._out is None or self._filling is None or self.path is None:
            return
        self._out.close()
        self._out = None
        if kind is None:
            os.replace(self._filling, self.path)
        else:
            self._filling.unlink(missing_ok=True)


def rows_left_out(rows: int, lines: int) -> str:
    """Tells how many rows were left out, and of how many lines where a row has several."""
    told = "1 bad row" if rows == 1 else f"{rows:,} bad rows"
    return f"{told} ({lines:,} lines) left out" if lines > rows else f"{told} left out"


def shorten(value: Any) -> str:
    """Writes a value as a message shows it."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def not_utf8(error: UnicodeDecodeError) -> BadValue:
    """Makes of a decoding error the BadValue that a reader reports."""
    undecodable = bytes(error.object[error.start : error.end])
    return BadValue(undecodable, f"UTF-8 text ({error.reason} at byte {error.start + 1} of the line)")
