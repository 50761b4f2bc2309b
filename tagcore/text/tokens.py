"""Words of texts, the same as scikit-learn's default analyser finds: `lower()`, then `\\b\\w\\w+\\b`; or `split()`."""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tagcore.kernels.text import tokens as kernel
from tagcore.text.string_arrays import buffers
from tagcore.text.terms import TermTable

TOKEN_PATTERN = r"(?u)\b\w\w+\b"

_PLANES = 0x20000  # code points folded by table: all scripts and symbols in use but rare Chinese characters
_SIGMA = 0x3A3  # Σ is σ or ς by its neighbours
_DOTTED = 0x130  # İ becomes two characters, no other does


class Sequences(NamedTuple):
    """One run of ids per text: ids[indptr[i] : indptr[i + 1]]."""

    ids: np.ndarray
    indptr: np.ndarray


class WordRule(NamedTuple):
    """What a word is: a run of some characters, of a least length; and Python's way to find all of a text."""

    takes: Callable[[np.ndarray], np.ndarray]  # marks them in an array of characters
    shortest: int
    find: Callable[[str], list[str]]


WORDS = WordRule(lambda text: np.strings.isalnum(text) | (text == "_"), 2, re.compile(TOKEN_PATTERN).findall)
RUNS = WordRule(lambda text: ~np.strings.isspace(text), 1, str.split)  # of anything between white space


@cache
def folding(lowercase: bool, rule: WordRule = WORDS) -> np.ndarray:
    """Maps a code point to the word character it is stored as, 0 for others, -1 where Python must fold the text."""
    every = "".join(map(chr, range(_PLANES)))  # at once: a command that asks a model has no time for a loop
    folded = every.replace(chr(_DOTTED), "_").lower() if lowercase else every
    characters = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), "U1")
    table = np.where(rule.takes(characters), characters.view(np.int32), 0)
    table[0] = -1 if rule.takes(characters[:1]).item() else 0  # 0 ends a word
    if lowercase:
        table[[_SIGMA, _DOTTED]] = -1
    table[0xD800:0xE000] = -1  # surrogates are not UTF-8
    table.setflags(write=False)
    return table


def tokenise(
    texts: pa.Array, table: TermTable, rule: WordRule = WORDS, *, lowercase: bool = True, grow: bool
) -> Sequences:
    """Gives ids of the words of every text; new words are added to the table, or are -1 if it may not `grow`."""
    data, offsets = buffers(texts)
    rows = len(texts)
    # a word takes its least length in bytes and a separator, but for the last
    ids = np.empty((int(offsets[-1] - offsets[0]) + rows) // (rule.shortest + 1), np.int32)
    indptr = np.zeros(rows + 1, np.int64)
    skipped = np.zeros(rows, np.bool_)
    words = folding(lowercase, rule), rule.shortest
    row = 0
    while (row := kernel.tokenise(data, offsets, row, *words, ids, indptr, skipped, grow, *table.arrays)) < rows:
        table.widen()
    sequences = Sequences(ids[: indptr[-1]], indptr)
    if not skipped.any():
        return sequences
    return _with_python_rows(sequences, texts, np.flatnonzero(skipped), table, rule, lowercase, grow)


def _with_python_rows(
    sequences: Sequences,
    texts: pa.Array,
    rows: np.ndarray,
    table: TermTable,
    rule: WordRule,
    lowercase: bool,
    grow: bool,
) -> Sequences:
    """Adds the words of rows that the kernel skipped to the sequences."""
    words: list[str] = []
    counts = np.zeros(len(texts), np.int64)
    for row in rows:
        before = len(words)
        try:
            text = texts[row].as_py()
        except UnicodeDecodeError as error:
            raise ValueError(f"text {row} of the block is no valid UTF-8: {error}") from None
        words += rule.find(text.lower() if lowercase else text)
        counts[row] = len(words) - before
    strings = pa.array(words, pa.large_string())
    ids = table.add(strings) if grow else table.find(strings)
    places = np.repeat(sequences.indptr[:-1], counts)
    indptr = sequences.indptr + np.concatenate([[0], np.cumsum(counts)])
    return Sequences(np.insert(sequences.ids, places, ids), indptr)
