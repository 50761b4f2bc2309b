"""Tables whose cells are parted by tabs, row by row, as dumps of databases write them."""

import re
from collections.abc import Iterable, Iterator

from tagcore.readers.bad_rows import BadValue, not_utf8
from tagcore.readers.input_files import Chunk

_LONGEST = 16 << 20  # bytes of a row that goes on and on
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"t": "\t", "n": "\n", "r": "\r", "0": "\0"}


def tab_rows(chunks: Iterable[Chunk]) -> Iterator[tuple[int, bytes]]:
    """Parts whole lines into rows with their numbers; empty ones are left out. A backslash at the end continues it."""
    held: list[bytes] = []
    size, first = 0, 1
    for chunk in chunks:
        for number, raw in enumerate(chunk.data.removesuffix(b"\n").split(b"\n"), chunk.line):
            if not held:
                size, first = 0, number
            if (len(raw) - len(raw.rstrip(b"\\"))) % 2 and size < _LONGEST:
                held.append(raw[:-1] + b"\\n")
                size += len(raw) + 1
                continue
            if row := b"".join(held) + raw.removesuffix(b"\r"):
                yield first, row
            held.clear()
    if held:
        yield first, b"".join(held)


def cells(row: bytes, at_least: int, encoding: str = "utf-8") -> list[str | None]:
    """Reads the cells of a row as MySQL writes them, \\N for none; BadValue where there are too few."""
    try:
        text = row.decode(encoding)
    except UnicodeDecodeError as error:
        raise not_utf8(error) from None
    parts = text.split("\t")
    if len(parts) < at_least:
        raise BadValue(len(parts), f"at least {at_least} cells with tabs between them")
    return [None if part == "\\N" else _ESCAPE.sub(_unescaped, part) if "\\" in part else part for part in parts]


def _unescaped(escape: re.Match) -> str:
    return _MEANT.get(escape[1], escape[1])
