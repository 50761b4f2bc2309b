"""The threshold of best F1 of every label, from scores that are walked twice and never kept.

Only a threshold just below the score of a positive can be best. So a label with P positives has P candidates, and
P + 1 buckets for its negatives: bucket j holds those that reach positive j but not j - 1, the last those below all.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def gather_positives(scores, first, labels, row_starts, starts, filled, positives):
    """Scores of the true labels of a block of rows, each to the next free place of its label."""
    for i in range(scores.shape[0]):
        for p in range(row_starts[first + i], row_starts[first + i + 1]):
            label = labels[p]
            positives[starts[label] + filled[label]] = scores[i, label]
            filled[label] += 1


@njit(cache=True, nogil=True)
def count_negatives(scores, first, labels, row_starts, starts, positives, counts, highest):
    """Puts the negatives of a block of rows in their buckets: how many, and the highest score of each.

    The positives of a label fall from starts[label] on; its buckets begin at starts[label] + label.
    """
    n_labels = scores.shape[1]
    is_true = np.zeros(n_labels, np.bool_)
    for i in range(scores.shape[0]):
        true = labels[row_starts[first + i] : row_starts[first + i + 1]]
        is_true[true] = True
        for label in range(n_labels):
            start, stop = starts[label], starts[label + 1]
            if start == stop or is_true[label]:
                continue
            score = scores[i, label]
            low, high = start, stop
            if score < positives[stop - 1]:
                low = stop  # most negatives, one comparison each
            while low < high:
                middle = (low + high) // 2
                if positives[middle] <= score:
                    high = middle
                else:
                    low = middle + 1
            counts[low + label] += 1
            highest[low + label] = max(highest[low + label], score)
        is_true[true] = False


@njit(cache=True, nogil=True)
def best_thresholds(starts, positives, counts, highest, floor, thresholds, f1):
    """The highest threshold of best F1, halfway to the next lower score; for an F1 below `floor`, the highest score."""
    for label in range(starts.size - 1):
        start, stop = starts[label], starts[label + 1]
        false = 0
        for j in range(start, stop):
            false += counts[j + label]
            true = j - start + 1
            below = highest[j + 1 + label]
            if j + 1 < stop:
                below = max(below, positives[j + 1])
            if below == positives[j]:
                continue  # the next positive ties: no threshold lies between
            value = 2.0 * true / (true + false + stop - start)
            if value > f1[label]:
                f1[label] = value
                if below == -np.inf:
                    below = np.nextafter(positives[j], -np.inf)
                halfway = 0.5 * positives[j] + 0.5 * below
                thresholds[label] = halfway if halfway < positives[j] else below
        if start < stop and f1[label] < floor:
            thresholds[label] = max(positives[start], highest[start + label])
