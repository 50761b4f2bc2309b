"""Counting for measures and labelling: hits in a ranking, pairs in order, bootstrap means, the best rows per tag."""

import numpy as np
from numba import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def mark_hits(indptr, indices, top, n_labels, hits):
    """Fills hits (n, k); returns the flat position of the first id out of range or twice in its row, or -1."""
    n, k = top.shape
    true_in = np.full(n_labels, -1, np.int64)
    seen_in = np.full(n_labels, -1, np.int64)
    for row in range(n):
        for entry in range(indptr[row], indptr[row + 1]):
            true_in[indices[entry]] = row
        for place in range(k):
            label = top[row, place]
            if label < 0 or label >= n_labels or seen_in[label] == row:
                return row * k + place
            seen_in[label] = row
            hits[row, place] = true_in[label] == row
    return -1


@njit(cache=True, nogil=True)
def twice_above(positives, ordered):
    """Sum over `ordered` of 2 · #(positives above) + #(positives equal): integers, though a tie counts half.

    Both ascend: one walk along the two.
    """
    n_pos = positives.size
    first = last = twice = 0
    for score in ordered:
        while first < n_pos and positives[first] < score:
            first += 1
        last = max(last, first)
        while last < n_pos and positives[last] <= score:
            last += 1
        twice += 2 * n_pos - first - last
    return twice


@njit(cache=True, nogil=True)
def row_auc(indptr, indices, first_row, scores, ordered, auc):
    """Fills auc[first_row:] from a block and its rows in ascending order; NaN where a row has but one kind of label.

    Positives against all labels, less positives against themselves, which is P² / 2 whatever their order.
    """
    n_labels = scores.shape[1]
    for i in range(scores.shape[0]):
        start, stop = indptr[first_row + i], indptr[first_row + i + 1]
        n_pos = stop - start
        if n_pos == 0 or n_pos == n_labels:
            auc[first_row + i] = np.nan
            continue
        positives = np.empty(n_pos, np.float64)
        for e in range(n_pos):
            positives[e] = scores[i, indices[start + e]]
        positives.sort()
        twice = twice_above(positives, ordered[i]) - n_pos * n_pos
        auc[first_row + i] = twice / (2.0 * n_pos * (n_labels - n_pos))


@njit(cache=True, nogil=True)
def add_label_pairs(starts, positives, ordered, twice):
    """Adds the pairs of a block to twice[c]: ordered[c] are its scores, positives[starts[c]:starts[c + 1]] all true."""
    for c in range(ordered.shape[0]):
        twice[c] += twice_above(positives[starts[c] : starts[c + 1]], ordered[c])


@njit(cache=True, nogil=True)
def _mix(z):
    """The finaliser of splitmix64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def resampled_sums(values, seed, sums):
    """Fills sums (resamples, m) with column sums of n rows of values (n, m) drawn with replacement.

    Draw i of resample b is a hash of (seed, b, i): no state, the same on every machine.
    """
    n, m = values.shape
    size = np.uint64(n)
    for b in range(sums.shape[0]):
        key = _mix(_mix(np.uint64(seed)) + np.uint64(b + 1) * GOLDEN)
        total = np.zeros(m, np.float64)
        for i in range(n):
            draw = _mix(key + np.uint64(i + 1) * GOLDEN)
            row = np.int64(((draw >> HALF) * size) >> HALF)
            for j in range(m):
                total[j] += values[row, j]
        sums[b] = total


@njit(cache=True, nogil=True)
def _worse(score, row, other_score, other_row):
    return score < other_score or (score == other_score and row > other_row)


@njit(cache=True, nogil=True)
def keep_best_rows(scores, first_row, starts, sizes, kept_scores, kept_rows):
    """Offers a block of rows to one heap per label, in kept[starts[c]:starts[c + 1]], with the worst row at its root.

    Rows come in ascending order, so a tie with the root is the worse one: the lower row stays.
    """
    for i in range(scores.shape[0]):
        row = first_row + i
        for c in range(scores.shape[1]):
            root, room = starts[c], starts[c + 1] - starts[c]
            score = scores[i, c]
            if sizes[c] < room:
                at = sizes[c]
                sizes[c] += 1
                while at > 0:
                    parent = (at - 1) // 2
                    if not _worse(score, row, kept_scores[root + parent], kept_rows[root + parent]):
                        break
                    kept_scores[root + at] = kept_scores[root + parent]
                    kept_rows[root + at] = kept_rows[root + parent]
                    at = parent
            elif room > 0 and score > kept_scores[root]:
                at = 0
                while 2 * at + 1 < room:
                    child = 2 * at + 1
                    if child + 1 < room and _worse(
                        kept_scores[root + child + 1],
                        kept_rows[root + child + 1],
                        kept_scores[root + child],
                        kept_rows[root + child],
                    ):
                        child += 1
                    if not _worse(kept_scores[root + child], kept_rows[root + child], score, row):
                        break
                    kept_scores[root + at] = kept_scores[root + child]
                    kept_rows[root + at] = kept_rows[root + child]
                    at = child
            else:
                continue
            kept_scores[root + at] = score
            kept_rows[root + at] = row
