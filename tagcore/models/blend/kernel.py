"""Features of document-tag pairs, and what the combiner makes of them.

With M members a pair has, for each member, its score, the gap to the best score of the document and log(1 + rank);
then log(1 + documents of the tag), log(1 + words of the document), each member's best score, and how the tag goes with
the six best others of the leading member.
"""

import numpy as np
from numba import njit

from tagcore.kernels.ranking import best_of_row

RANKS = 100  # ranks that are told apart
OTHERS = 6  # best tags that a tag is seen beside
FLOOR, LEAST = -20.0, -18.0  # of tags outside the pool, which are not suggested, and of those inside it
_UNLIKELY = 0.05  # added to a lift, whose logarithm is taken


@njit(cache=True, nogil=True)
def _met(tag, other, starts, tags, counts):
    """How many documents have both tags."""
    low, high = starts[other], starts[other + 1]
    while low < high:
        middle = (low + high) // 2
        if tags[middle] < tag:
            low = middle + 1
        else:
            high = middle
    return counts[low] if low < starts[other + 1] and tags[low] == tag else 0


@njit(cache=True, nogil=True)
def _beside(tag, best, best_scores, lead, documents, n_documents, starts, tags, counts, out):
    """How the tag goes with the best others: max, mean and mean logarithm of lift, weighed by how likely these are."""
    seen = 0
    total, strongest, share, lift = 0.0, 0.0, 0.0, 0.0
    for place in range(best.size):
        other = best[place]
        if other == tag:
            continue
        if seen == OTHERS:
            break
        seen += 1
        weight = 1.0 / (1.0 + np.exp(-(lead[0] * best_scores[place] + lead[1])))
        both = _met(tag, other, starts, tags, counts)
        chance = both / (documents[other] + 1.0)
        strongest = max(strongest, weight * chance)
        share += weight * chance
        expected = float(documents[other]) * float(documents[tag])
        lift += weight * np.log((both * n_documents / expected if expected > 0 else 0.0) + _UNLIKELY)
        total += weight
    out[0] = strongest
    out[1] = share / total if total > 0 else 0.0
    out[2] = lift / total if total > 0 else 0.0


@njit(cache=True, nogil=True)
def pair_features(scores, words, pool, lead, documents, n_documents, starts, tags, counts):
    """(indptr, tags, features) of the pairs of every row: the union of the members' `pool` best tags.

    `scores` are (members, rows, tags), `words` the numbers of words of the rows, `lead` slope and intercept of the
    first member's score as a log-odds; the rest are counts of documents: of tags, of all, of pairs of tags as CSR.
    """
    n_members, n_rows, n_tags = scores.shape
    ranks, pool = min(RANKS, n_tags), min(pool, n_tags)
    best = np.empty((n_members, ranks), np.int64)
    best_scores = np.empty((n_members, ranks), np.float64)
    place = np.full(n_tags, -1, np.int64)
    found = np.empty(n_members * pool, np.int64)
    indptr = np.zeros(n_rows + 1, np.int64)
    pair_tags = np.empty(n_rows * n_members * pool, np.int64)
    features = np.empty((n_rows * n_members * pool, 4 * n_members + 5), np.float64)
    n = 0
    for i in range(n_rows):
        n_found = 0
        for m in range(n_members):
            best_of_row(scores[m, i], ranks, best[m], best_scores[m])
            for p in range(pool):
                tag = best[m, p]
                if place[tag] < 0:
                    place[tag] = n + n_found
                    found[n_found] = tag
                    n_found += 1
        for f in range(n_found):
            tag, row = found[f], features[n + f]
            for m in range(n_members):
                row[3 * m] = scores[m, i, tag]
                row[3 * m + 1] = scores[m, i, tag] - best_scores[m, 0]
                row[3 * m + 2] = np.log1p(RANKS)
                row[3 * n_members + 2 + m] = best_scores[m, 0]
            row[3 * n_members] = np.log1p(documents[tag])
            row[3 * n_members + 1] = np.log1p(words[i])
            nearest = min(ranks, OTHERS + 1)
            _beside(
                tag, best[0, :nearest], best_scores[0], lead, documents, n_documents, starts, tags, counts,
                row[4 * n_members + 2 :],
            )  # fmt: skip
            pair_tags[n + f] = tag
        for m in range(n_members):
            for rank in range(ranks):
                if place[best[m, rank]] >= 0:
                    features[place[best[m, rank]], 3 * m + 2] = np.log1p(rank)
        for f in range(n_found):
            place[found[f]] = -1
        n += n_found
        indptr[i + 1] = n
    return indptr, pair_tags[:n].copy(), features[:n].copy()


@njit(cache=True, nogil=True)
def with_products(features, n_members):
    """The features and, for each member, the products that a logistic curve of them cannot make by itself."""
    n, width = features.shape
    out = np.empty((n, width + 4 * n_members), np.float64)
    for i in range(n):
        out[i, :width] = features[i]
        frequency = features[i, 3 * n_members] - 3.0
        for m in range(n_members):
            score, rank = features[i, 3 * m], features[i, 3 * m + 2]
            at = width + 4 * m
            out[i, at] = score * frequency
            out[i, at + 1] = rank * frequency
            out[i, at + 2] = score * rank
            out[i, at + 3] = score * abs(score)
    return out


@njit(cache=True, nogil=True)
def combine(features, n_members, weights, tree_starts, split_features, thresholds, children, values):
    """Log-odds of pairs: a linear sum of features and products; its mean with that of the trees, where there are any.

    The last weight is the intercept; a node without children (0) is a leaf; the first value of all is the trees' own
    intercept.
    """
    n = features.shape[0]
    products = with_products(features, n_members)
    out = np.empty(n, np.float64)
    for i in range(n):
        linear = weights[-1]
        for j in range(products.shape[1]):
            linear += weights[j] * products[i, j]
        if tree_starts.size > 1:
            trees = values[0]
            for tree in range(tree_starts.size - 1):
                node = tree_starts[tree]
                while children[node, 0] > 0:
                    left = features[i, split_features[node]] <= thresholds[node]
                    node = children[node, 0] if left else children[node, 1]
                trees += values[node]
            linear = 0.5 * (linear + trees)
        out[i] = max(linear, LEAST)
    return out


@njit(cache=True, nogil=True)
def spread_scores(indptr, tags, pair_scores, lead_scores, lead):
    """Dense scores of all tags: those of pairs, and below all of them the rest, in the order of the leading member."""
    n_rows, n_tags = lead_scores.shape
    out = np.empty((n_rows, n_tags), np.float64)
    for i in range(n_rows):
        for tag in range(n_tags):
            odds = lead[0] * lead_scores[i, tag] + lead[1]
            out[i, tag] = FLOOR + odds / (1.0 + abs(odds))
        for p in range(indptr[i], indptr[i + 1]):
            out[i, tags[p]] = pair_scores[p]
    return out
