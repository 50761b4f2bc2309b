"""Texts as arrow string arrays, whatever they came as, and the plain buffers below them."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Texts: TypeAlias = Iterable[str] | pa.Array | pa.ChunkedArray

BLOCK = 10_000  # texts of a Python iterable that are held as one array

_LARGE = pa.large_string()
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def text_blocks(texts: Texts) -> Iterator[pa.Array]:
    """Yields arrow string arrays that together hold the texts."""
    if isinstance(texts, str):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    if isinstance(texts, pa.ChunkedArray):
        yield from map(string_array, texts.chunks)
    elif isinstance(texts, pa.Array):
        yield string_array(texts)
    else:
        if isinstance(texts, list) and len(texts) <= BLOCK:
            yield _from_python(texts, 0)
            return
        remaining = iter(texts)
        first = 0
        while block := list(islice(remaining, BLOCK)):
            yield _from_python(block, first)
            first += len(block)


def string_array(array: pa.Array) -> pa.Array:
    """Gives the array as (large) strings without nulls: a null is an empty text."""
    if not isinstance(array, pa.StringArray | pa.LargeStringArray):
        if not isinstance(array, pa.StringViewArray | pa.DictionaryArray | pa.NullArray):
            raise ValueError(f"expected an arrow array of strings, got one of {array.type}")
        array = array.cast(_LARGE)
    return pc.fill_null(array, "") if array.null_count else array


def buffers(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Gives (bytes, offsets int64 of n + 1) of a (large) string array; offsets count from the start of the bytes."""
    _, offsets, data = array.buffers()
    if len(array) == 0:
        return np.frombuffer(b"", np.uint8), np.zeros(1, np.int64)
    width = _INT64 if isinstance(array, pa.LargeStringArray) else _INT32
    bounds = np.frombuffer(offsets, width, len(array) + 1, array.offset * width.itemsize)
    characters = np.frombuffer(data or b"", np.uint8)
    characters.setflags(write=False)  # numba compiles anew for writable arrays
    return characters, bounds.astype(np.int64)


def from_buffers(data: np.ndarray, offsets: np.ndarray) -> pa.Array:
    """Gives the string array of (bytes, offsets); large strings, so that no size overflows."""
    parts = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(_LARGE, offsets.size - 1, parts)


def _from_python(block: list, first: int) -> pa.Array:
    try:
        return string_array(pa.array(block, _LARGE))
    except (pa.ArrowException, TypeError, UnicodeError):
        for row, text in enumerate(block, first):
            if text is not None and not isinstance(text, str):
                raise ValueError(f"text {row}: expected a str, got {type(text).__name__} {text!r:.80}") from None
            try:
                (text or "").encode()
            except UnicodeEncodeError as error:
                raise ValueError(f"text {row}: no valid Unicode: {error}") from None
        raise
