"""How the true labels of single rows stand among all labels.

A row is measured by counting, for each of its positives, the cells that score at least as much: cells below the
lowest positive cost one comparison, and nothing but the positives is sorted.
"""

import numpy as np
from numba import njit

AUC, LRAP, COVERAGE, RANKING_LOSS, ONE_ERROR = range(5)  # the rows of `measures`


@njit(cache=True, nogil=True)
def rank_dense(indptr, indices, first_row, scores, positive_scores, measures):
    """Fills measures[:, first_row:] and positive_scores, the scores of the true cells, from a block of rows."""
    n_labels = scores.shape[1]
    for i in range(scores.shape[0]):
        row = first_row + i
        start, stop = indptr[row], indptr[row + 1]
        for e in range(start, stop):
            positive_scores[e] = scores[i, indices[e]]
        if stop == start or stop - start == n_labels:
            _rank_without_pairs(stop - start, measures[:, row])
            continue
        positives = positive_scores[start:stop].copy()
        positives.sort()
        reached, tied = np.zeros(positives.size, np.int64), np.zeros(positives.size, np.int64)
        lowest, best, top = positives[0], -np.inf, 0
        for label in range(n_labels):
            score = scores[i, label]
            if score < lowest:
                continue
            if score > best:
                best, top = score, label
            _count(positives, score, reached, tied)
        _rank(positives, reached, tied, n_labels, measures[:, row])
        measures[ONE_ERROR, row] = not np.any(indices[start:stop] == top)


@njit(cache=True, nogil=True)
def _count(positives, score, reached, tied):
    """Files a cell, not below the lowest positive, under the highest positive that it reaches."""
    low, high = 1, positives.size
    while low < high:
        middle = (low + high) // 2
        if positives[middle] <= score:
            low = middle + 1
        else:
            high = middle
    reached[low - 1] += 1
    if positives[low - 1] == score:
        tied[low - 1] += 1


@njit(cache=True, nogil=True)
def _rank(positives, reached, tied, n_labels, measures):
    """From the counts to the measures: one walk from the highest positive down, equal ones taken together."""
    n_pos = positives.size
    n_neg = n_labels - n_pos
    precision = 0.0
    wrong = twice_right = cells = 0
    last = n_pos - 1
    while last >= 0:
        first = last
        while first > 0 and positives[first - 1] == positives[last]:
            first -= 1
        equal = last - first + 1
        cells += reached[last]  # with this score or more
        positives_so_far = n_pos - first
        negatives = cells - positives_so_far
        precision += equal * positives_so_far / cells
        wrong += equal * negatives
        twice_right += equal * (2 * (n_neg - negatives) + tied[last] - equal)
        last = first - 1
    measures[AUC] = twice_right / (2.0 * n_pos * n_neg)
    measures[LRAP] = precision / n_pos
    measures[COVERAGE] = cells
    measures[RANKING_LOSS] = wrong / (n_pos * n_neg)


@njit(cache=True, nogil=True)
def _rank_without_pairs(n_pos, measures):
    """A row of one kind of label, with scikit-learn's values: any order of its labels is right."""
    measures[AUC] = np.nan
    measures[LRAP] = 1.0
    measures[COVERAGE] = n_pos
    measures[RANKING_LOSS] = 0.0
    measures[ONE_ERROR] = n_pos == 0
