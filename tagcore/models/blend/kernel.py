"""Features of document-tag pairs, and what the combiner makes of them.

With M members a pair has, for each member, its score, the gap to the best score of the document and log(1 + rank);
then log(1 + documents of the tag), log(1 + words of the document), each member's best score, and how the tag goes with
the six best others of the leading member.
"""

import numpy as np
from numba import njit

from tagcore.kernels.copying import copy_into
from tagcore.kernels.ranking import best_of_row
from tagcore.models.blend.trees import GROUP, sum_of_trees

RANKS = 40  # ranks that are told apart
OTHERS = 6  # best tags that a tag is seen beside
FLOOR, LEAST = -20.0, -18.0  # of tags outside the pool, which come last, and of those inside it
_UNLIKELY = 0.05  # added to a lift, whose logarithm is taken


@njit(cache=True, nogil=True)
def best_ranks(scores):
    """(tags, scores) of the best of every member and row, best first, two (members, rows, ranks) arrays."""
    n_members, n_rows, n_tags = scores.shape
    ranks = min(RANKS, n_tags)
    best = np.empty((n_members, n_rows, ranks), np.int64)
    best_scores = np.empty((n_members, n_rows, ranks), np.float64)
    for m in range(n_members):
        for i in range(n_rows):
            best_of_row(scores[m, i], ranks, best[m, i], best_scores[m, i])
    return best, best_scores


@njit(cache=True, nogil=True)
def _count_meetings(others, counts, place, both):
    """Counts, for each pair of a document and each of its best others, the documents that have both tags.

    `place` is where the tags of the pairs stand, -1 for all others: the tags that meet an other are read once for all.
    """
    starts, met_tags, met_counts = counts[2:]
    both[:] = 0
    for o in range(others.size):
        for at in range(starts[others[o]], starts[others[o] + 1]):
            if place[met_tags[at]] >= 0:
                both[place[met_tags[at]], o] = met_counts[at]


@njit(cache=True, nogil=True)
def _beside(tag, others, weights, both, counts, out):
    """How the tag goes with the best others: max, mean and mean logarithm of lift, weighed by how likely these are."""
    documents, n_documents = counts[:2]
    seen = 0
    total, strongest, share, lift = 0.0, 0.0, 0.0, 0.0
    for place in range(others.size):
        other = others[place]
        if other == tag:
            continue
        if seen == OTHERS:
            break
        seen += 1
        weight = weights[place]
        chance = both[place] / (documents[other] + 1.0)
        strongest = max(strongest, weight * chance)
        share += weight * chance
        expected = float(documents[other]) * float(documents[tag])
        lift += weight * np.log((both[place] * n_documents / expected if expected > 0 else 0.0) + _UNLIKELY)
        total += weight
    out[0] = strongest
    out[1] = share / total if total > 0 else 0.0
    out[2] = lift / total if total > 0 else 0.0


@njit(cache=True, nogil=True)
def pair_features(scores, best, best_scores, likely, word_starts, pool, counts):
    """(indptr, tags, features) of the pairs of every row: the union of the members' `pool` best tags.

    `scores` are (members, rows, tags), `best` and `best_scores` what `best_ranks` gives of them, `likely` the leading
    member's own probabilities of its first ranks, `word_starts` where the words of a row start; `counts` are of
    documents: of tags, of all, of pairs of tags as CSR. A member puts no tag forward that it cannot tell from its last
    rank.
    """
    n_members, n_rows, n_tags = scores.shape
    ranks = best.shape[2]
    pool = min(pool, ranks)
    most, n_others = n_members * pool, likely.shape[1]
    place = np.full(n_tags, -1, np.int64)
    both = np.empty((most, n_others), np.int64)
    indptr = np.zeros(n_rows + 1, np.int64)
    pair_tags = np.empty(n_rows * most, np.int64)
    features = np.empty((n_rows * most, 4 * n_members + 5), np.float64)
    log_ranks = np.log1p(np.arange(RANKS + 1))
    for i in range(n_rows):
        n = indptr[i]
        found, n_found = pair_tags[n : n + most], 0
        for m in range(n_members):
            last = best_scores[m, i, ranks - 1]
            for p in range(pool):
                tag = best[m, i, p]
                if best_scores[m, i, p] == last and p < ranks - 1:
                    break
                if place[tag] < 0:
                    place[tag] = n_found
                    found[n_found] = tag
                    n_found += 1
        others, words = best[0, i, :n_others], np.log1p(word_starts[i + 1] - word_starts[i])
        _count_meetings(others, counts, place, both[:n_found])
        for f in range(n_found):
            tag, row = found[f], features[n + f]
            for m in range(n_members):
                row[3 * m] = scores[m, i, tag]
                row[3 * m + 1] = scores[m, i, tag] - best_scores[m, i, 0]
                row[3 * m + 2] = log_ranks[RANKS]
                row[3 * n_members + 2 + m] = best_scores[m, i, 0]
            row[3 * n_members] = np.log1p(counts[0][tag])
            row[3 * n_members + 1] = words
            _beside(tag, others, likely[i], both[f], counts, row[4 * n_members + 2 :])
        for m in range(n_members):
            for rank in range(ranks):
                at = place[best[m, i, rank]]
                if at >= 0:
                    features[n + at, 3 * m + 2] = log_ranks[rank]
        for f in range(n_found):
            place[found[f]] = -1
        indptr[i + 1] = n + n_found
    n = indptr[n_rows]
    return indptr, pair_tags[:n].copy(), features[:n].copy()


@njit(cache=True, nogil=True)
def _fill_products(features, n_members, out):
    frequency = features[3 * n_members] - 3.0
    for m in range(n_members):
        score, rank = features[3 * m], features[3 * m + 2]
        out[4 * m] = score * frequency
        out[4 * m + 1] = rank * frequency
        out[4 * m + 2] = score * rank
        out[4 * m + 3] = score * abs(score)


@njit(cache=True, nogil=True)
def with_products(features, n_members):
    """The features and, for each member, the products that a logistic curve of them cannot make by itself."""
    n, width = features.shape
    out = np.empty((n, width + 4 * n_members), np.float64)
    for i in range(n):
        copy_into(out[i], features[i])
        _fill_products(features[i], n_members, out[i, width:])
    return out


@njit(cache=True, nogil=True)
def _fill_within(features, ranges, out):
    for j in range(features.size):
        out[j] = min(max(features[j], ranges[0, j]), ranges[1, j])


@njit(cache=True, nogil=True)
def within(features, ranges):
    """The features of pairs, each brought into its range: (lows, highs)."""
    out = np.empty_like(features)
    for i in range(features.shape[0]):
        _fill_within(features[i], ranges, out[i])
    return out


@njit(cache=True, nogil=True)
def combine(features, n_members, ranges, weights, tables):
    """Log-odds of pairs: a linear sum of features and products; its mean with that of the trees, where there are any.

    The last weight is the intercept. Features are brought into the ranges that the weights were learnt in: a text of
    one word may have scores that no document has, and a parabola through them says anything.
    """
    n, width = features.shape
    n_trees = tables[3].shape[0] - 1
    row, products = np.empty(width, np.float64), np.empty(4 * n_members, np.float64)
    alive = np.empty(GROUP, np.uint16)
    out = np.empty(n, np.float64)
    for i in range(n):
        linear = weights[-1]
        _fill_within(features[i], ranges, row)
        _fill_products(row, n_members, products)
        for j in range(width):
            linear += weights[j] * row[j]
        for j in range(products.size):
            linear += weights[width + j] * products[j]
        if n_trees > 0:
            linear = 0.5 * (linear + sum_of_trees(row, tables, alive))
        out[i] = max(linear, LEAST)
    return out


@njit(cache=True, nogil=True)
def spread_scores(indptr, tags, pair_scores, lead_scores):
    """Dense scores of all tags: those of pairs, and below all of them the rest, in the order of the leading member."""
    n_rows, n_tags = lead_scores.shape
    out = np.empty((n_rows, n_tags), np.float64)
    for i in range(n_rows):
        for tag in range(n_tags):
            score = lead_scores[i, tag]
            out[i, tag] = FLOOR + score / (1.0 + abs(score))
        for p in range(indptr[i], indptr[i + 1]):
            out[i, tags[p]] = pair_scores[p]
    return out


@njit(cache=True, nogil=True)
def best_pairs(indptr, tags, pair_scores, out_tags, out_scores):
    """Fills rows with the best pairs of each, best first, ties to the lower tag; False where one has too few."""
    n_rows, k = out_tags.shape
    for i in range(n_rows):
        if indptr[i + 1] - indptr[i] < k:
            return False
        filled = 0
        for p in range(indptr[i], indptr[i + 1]):
            tag, score, at = tags[p], pair_scores[p], filled
            while at > 0 and (
                score > out_scores[i, at - 1] or (score == out_scores[i, at - 1] and tag < out_tags[i, at - 1])
            ):
                if at < k:
                    out_scores[i, at], out_tags[i, at] = out_scores[i, at - 1], out_tags[i, at - 1]
                at -= 1
            if at < k:
                out_scores[i, at], out_tags[i, at] = score, tag
                filled = min(filled + 1, k)
    return True
