"""Stochastic gradient steps on the WARP loss (Weston, Bengio and Usunier, 2011)."""

import numpy as np
from numba import njit

from tagcore.baselines.low_rank.kernels.dots import dot
from tagcore.kernels.random.streams import open_stream, uniform


@njit(cache=True, nogil=True)
def _shorten(vector, max_norm):
    """Back into the ball of radius max_norm."""
    square = dot(vector, vector)
    if square > max_norm * max_norm:
        vector *= max_norm / np.float32(np.sqrt(square))


@njit(cache=True, nogil=True)
def find_violator(embedded, score, tags, true, margin, n_false, state):
    """(tag, trials): the first tag drawn, not one of the document's, whose score comes within the margin of `score`.

    Tag -1 when as many were drawn as there are without one.
    """
    trials = 0
    while trials < n_false:
        tag = int(uniform(state) * tags.shape[0])
        if true[tag]:
            continue
        trials += 1
        if dot(embedded, tags[tag]) > score - margin:
            return tag, trials
    return -1, trials


@njit(cache=True, nogil=True)
def learn_documents(
    data, indices, indptr, order, tag_ids, tag_starts, weights, seed, rate, margin, max_norm, words, tags
):
    """One pass over the documents in that order: words (D × k) and tags (L × k) move on.

    Each tag of a document is a step of its own; `weights[r]` is the loss of a rank r. The words get the steps of a
    document together, which leaves its embedding as if they had come one by one, and are then brought into the ball.
    Draws are keyed by the seed and the document.
    """
    rank, n_tags = words.shape[1], tags.shape[0]
    embedded, moved, gap = np.empty(rank, np.float32), np.empty(rank, np.float32), np.empty(rank, np.float32)
    true, state = np.zeros(n_tags, np.bool_), np.empty(1, np.uint64)
    rate, margin, max_norm = np.float32(rate), np.float32(margin), np.float32(max_norm)
    for i in order:
        its = tag_ids[tag_starts[i] : tag_starts[i + 1]]
        n_false = n_tags - its.size
        if its.size == 0 or n_false == 0:
            continue
        open_stream(seed, i, state)
        true[its] = True
        embedded[:], moved[:], square = 0.0, 0.0, np.float32(0.0)
        for p in range(indptr[i], indptr[i + 1]):
            embedded += data[p] * words[indices[p]]
            square += data[p] * data[p]
        for tag in its:
            other, trials = find_violator(embedded, dot(embedded, tags[tag]), tags, true, margin, n_false, state)
            if other < 0:
                continue
            step = rate * weights[n_false // trials]
            for c in range(rank):
                gap[c] = tags[tag, c] - tags[other, c]
                tags[tag, c] += step * embedded[c]
                tags[other, c] -= step * embedded[c]
                moved[c] += step * gap[c]
                embedded[c] += step * square * gap[c]
            _shorten(tags[tag], max_norm)
            _shorten(tags[other], max_norm)
        true[its] = False
        for p in range(indptr[i], indptr[i + 1]):
            row = words[indices[p]]
            for c in range(rank):
                row[c] += data[p] * moved[c]
            _shorten(row, max_norm)
