"""The best rows of every label, found block by block."""

from numba import njit


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
