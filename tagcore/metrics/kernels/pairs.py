"""Pairs of scores in order: how often one that should be above another is."""

from numba import njit


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
def add_label_pairs(starts, positives, cell_starts, cells, twice):
    """Adds to twice[c] the pairs of its positives with cells[cell_starts[c]:cell_starts[c + 1]]; both ascend."""
    for c in range(twice.size):
        of_label = positives[starts[c] : starts[c + 1]]
        twice[c] += twice_above(of_label, cells[cell_starts[c] : cell_starts[c + 1]])


@njit(cache=True, nogil=True)
def sort_segments(starts, values):
    """Sorts values[starts[c]:starts[c + 1]] for every c, in place."""
    for c in range(starts.size - 1):
        values[starts[c] : starts[c + 1]].sort()
