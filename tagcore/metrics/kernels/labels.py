"""Given labels beside true ones: one walk over the cells of both counts them by label and by row."""

from numba import njit


@njit(cache=True, nogil=True)
def count_labels(true_starts, true_labels, given_starts, given_labels, true, given, right, right_of_row):
    """Adds to the counts of every label, and fills right_of_row. The labels of a row are in order."""
    for row in range(right_of_row.size):
        at, end = true_starts[row], true_starts[row + 1]
        for cell in range(at, end):
            true[true_labels[cell]] += 1
        hits = 0
        for cell in range(given_starts[row], given_starts[row + 1]):
            label = given_labels[cell]
            given[label] += 1
            while at < end and true_labels[at] < label:
                at += 1
            if at < end and true_labels[at] == label:
                right[label] += 1
                hits += 1
        right_of_row[row] = hits
