"""Texts to be tagged: from arguments, standard input or a file of any known format, a batch at a time."""

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from tagcore.readers.bad_rows import BadRow, ReadError, not_utf8
from tagcore.readers.input_files import ReadLimits, too_long

if TYPE_CHECKING:
    import scipy.sparse as sp

    from tagcore.corpus import Document, Names

LINES = "lines"
BATCH = 2048  # texts that are tagged together
BATCH_CHARACTERS = 4 << 20  # or fewer, where they are long

JSON = re.compile(rb'\s*\{\s*"')

Text = tuple[str, "Document"]  # id, text or its fields


class Batch(NamedTuple):
    """A run of texts with their ids; of sources that count words instead, the counts and the words of their columns."""

    ids: list[str]
    texts: "list[Document] | None"
    counts: "sp.csr_matrix | None" = None
    words: "Names | None" = None


@dataclass(frozen=True)
class Texts:
    """Batches in the order of the file, of texts or of the fields that are to be read; `named`: whether ids are the
    file's own, and not numbers of lines."""

    batches: Callable[[Sequence[str]], Iterator[Batch]]
    named: bool = False


@contextmanager
def open_texts(
    given: list[str] | None, file: Path | None, format: str | None, whole: bool, options: dict[str, Any]
) -> Iterator[Texts]:
    """Opens what a person gave: texts, a file, or neither, which is standard input."""
    if given:
        if file:
            raise ValueError("give a text or --file, not both")
        yield Texts(lambda fields: batched((str(n), text) for n, text in enumerate(given, 1)))
    elif file is not None and str(file) != "-":
        yield _of_file(file, format, whole, options)
    elif sys.stdin.isatty():
        raise ValueError("no text: give one as an argument, with --file, or on standard input")
    elif whole:
        yield Texts(lambda fields: iter([Batch(["1"], [decoded(_whole(sys.stdin.buffer), "-", 1)])]))
    elif format == LINES or (format is None and not JSON.match(cast(BufferedReader, sys.stdin.buffer).peek())):
        yield Texts(lambda fields: batched(plain_lines("-", _stream_lines(sys.stdin.buffer))))
    else:  # readers read files
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, f"stdin.{format or 'jsonl'}")
            with open(copy, "wb") as out:
                shutil.copyfileobj(sys.stdin.buffer, out)
            yield _of_file(copy, format, False, options)


def _of_file(path: Path, format: str | None, whole: bool, options: dict[str, Any]) -> Texts:
    from infra.cli.input_files import texts_of_file  # here: readers of all formats take their time to import

    return texts_of_file(path, format, whole, options)


def plain_lines(name: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[Text]:
    """Gives every line as a text, its number as id."""
    for number, raw in lines:
        yield str(number), decoded(raw, name, number)


def _stream_lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Numbers every line of a stream that cannot be opened again."""
    limit, number = ReadLimits().row_bytes, 0
    while raw := stream.readline(limit + 1):
        number += 1
        if len(raw) > limit:
            raise BadRow("-", number, len(raw), too_long(limit))
        yield number, raw.removesuffix(b"\n")


def _whole(stream: IO[bytes]) -> bytes:
    limit = ReadLimits().row_bytes
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise ReadError(f"-: longer than {limit} bytes, the limit of one text")
    return data


def batched(texts: Iterable[Text]) -> Iterator[Batch]:
    """Gathers texts into batches."""
    batch, characters = Batch([], []), 0
    for id_, text in texts:
        assert batch.texts is not None
        batch.ids.append(id_)
        batch.texts.append(text)
        characters += len(text) if isinstance(text, str) else sum(map(len, text.values()))
        if len(batch.ids) == BATCH or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = Batch([], []), 0
    if batch.ids:
        yield batch


def decoded(raw: bytes, name: str, line: int) -> str:
    """Gives the text of a line; BadRow where it is not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        bad = not_utf8(error)
        raise BadRow(name, line, bad.value, bad.expected) from None
