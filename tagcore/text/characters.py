"""Character n-grams within words, the same as scikit-learn's `char_wb` finds, each word between two blanks."""

import numpy as np
import pyarrow as pa

from tagcore.kernels.text import characters as kernel
from tagcore.text.string_arrays import buffers
from tagcore.text.terms import TermTable
from tagcore.text.tokens import RUNS, Sequences, tokenise


def character_grams(
    texts: pa.Array, table: TermTable, ngram_range: tuple[int, int], *, lowercase: bool = True, grow: bool
) -> Sequences:
    """Gives ids of the grams of every text; new ones are added to the table, or left out if it may not `grow`.

    Grams are looked for in every distinct word of the texts once.
    """
    words = TermTable()
    of_texts = tokenise(texts, words, RUNS, lowercase=lowercase, grow=True)
    data, offsets = buffers(words.strings(np.arange(len(words))))
    bounds = kernel.count_grams(data, offsets, *ngram_range)
    grams = np.empty(bounds[-1], np.int32)
    word = 0
    while (
        word := kernel.intern_grams(data, offsets, bounds, word, *ngram_range, grams, grow, *table.arrays)
    ) < offsets.size - 1:
        table.widen()
    return Sequences(*kernel.expand(*of_texts, grams, bounds))
