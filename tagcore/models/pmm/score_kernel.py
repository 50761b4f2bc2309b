"""Tags of a document from the posterior of its classes: by rank in a class, by shares, by neighbours in few classes."""

import math

import numpy as np
from numba import njit

from tagcore.kernels.neighbours import best_tags, nearest, tally_votes, weigh_votes
from tagcore.kernels.ranking import best_of_row
from tagcore.models.pmm.kernel import class_log_posterior, class_log_weights

UNRANKED = -1e30  # the score of a tag that no class ranks: finite, and below all that are ranked
_LEAST = math.log(1e-6)  # classes less probable than that give no tags by shares


@njit(cache=True, nogil=True)
def merge_ranked(log_posterior, starts, ids, log_ranks, tags, scores):
    """The best tags by ln Rank + ln P(class | document): exact, as tags of a class are stored best first.

    Returns how many tags were filled.
    """
    filled, k = 0, tags.size
    for c in range(log_posterior.size):
        for p in range(starts[c], starts[c + 1]):
            score, tag = log_ranks[p] + log_posterior[c], ids[p]
            if filled == k and (score < scores[k - 1] or (score == scores[k - 1] and tag > tags[k - 1])):
                break
            at = filled if filled < k else k - 1
            while at > 0 and (score > scores[at - 1] or (score == scores[at - 1] and tag < tags[at - 1])):
                scores[at], tags[at] = scores[at - 1], tags[at - 1]
                at -= 1
            scores[at], tags[at] = score, tag
            filled = min(filled + 1, k)
    return filled


@njit(cache=True, nogil=True)
def _add_shares(log_posterior, sharing, scores):
    """Adds Σ P(class | document) f(tag | class) to the zeros in `scores`; `sharing` is (starts, tags, shares)."""
    starts, ids, shares = sharing
    for c in range(log_posterior.size):
        if log_posterior[c] < _LEAST:
            continue
        weight = math.exp(log_posterior[c])
        for p in range(starts[c], starts[c + 1]):
            scores[ids[p]] += weight * shares[p]


@njit(cache=True, nogil=True)
def share_score_rows(log_posterior, sharing, scores):
    """Scores of all tags by their shares, added to the zeros in `scores`."""
    for i in range(log_posterior.shape[0]):
        _add_shares(log_posterior[i], sharing, scores[i])


@njit(cache=True, nogil=True)
def share_rows(data, indices, indptr, mixture, sharing, n_tags, tags, scores):
    """The best tags of CSR rows by their shares; the same sums as those of `share_score_rows`."""
    lp, posterior = _scratch(mixture)
    sums = np.empty(n_tags)
    for i in range(indptr.size - 1):
        row = slice(indptr[i], indptr[i + 1])
        class_log_posterior(indices[row], data[row], mixture, lp, posterior)
        sums[:] = 0.0
        _add_shares(posterior, sharing, sums)
        best_of_row(sums, tags.shape[1], tags[i], scores[i])


@njit(cache=True, nogil=True)
def _scratch(mixture):
    """Places for the sums of components and of classes."""
    return np.empty(mixture[1].size, np.float32), np.empty(mixture[4].size)


@njit(cache=True, nogil=True)
def _most_probable(log_posterior, chosen):
    """Fills `chosen` with the most probable classes, best first, ties to the lower number."""
    filled = 0
    for c in range(log_posterior.size):
        if filled == chosen.size and log_posterior[c] <= log_posterior[chosen[filled - 1]]:
            continue
        at = filled if filled < chosen.size else filled - 1
        while at > 0 and log_posterior[c] > log_posterior[chosen[at - 1]]:
            chosen[at] = chosen[at - 1]
            at -= 1
        chosen[at] = c
        filled = min(filled + 1, chosen.size)


@njit(cache=True, nogil=True)
def _query_weight(value, idf):
    """(1 + ln count) · idf, 0 for a count that is none."""
    return (1.0 + math.log(value)) * idf if value > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _votes_in_classes(words, values, chosen, index, tagging, idf, n_neighbors, power, places):
    """(tags, sums of votes) of the nearest documents among those of the chosen classes; empty where none is alike.

    `index` is (documents of each class, entries of each word, class of each entry, postings of each entry, documents,
    weights): documents are grouped by class and of unit length, an entry holds those of one class that have the word.
    `places` is -1 for every class, and is so again afterwards.
    """
    documents, entries, entry_classes, postings, rows, weights = index
    n = 0
    for c in chosen:
        places[c] = n
        n += documents[c + 1] - documents[c]
    shifts = np.empty(n, np.int64)  # from places among the candidates to documents
    for c in chosen:
        shifts[places[c] : places[c] + documents[c + 1] - documents[c]] = documents[c] - places[c]
    square, query = 0.0, np.empty(words.size)
    for q in range(words.size):
        query[q] = _query_weight(values[q], idf[words[q]])
        square += query[q] ** 2
    sims = np.zeros(n, np.float32)
    for q in range(words.size if square > 0.0 else 0):
        weight = np.float32(query[q] / math.sqrt(square))
        for entry in range(entries[words[q]], entries[words[q] + 1]):
            c = entry_classes[entry]
            if places[c] < 0:
                continue
            shift = places[c] - documents[c]
            for p in range(postings[entry], postings[entry + 1]):
                sims[rows[p] + shift] += weight * weights[p]
    nearby = np.empty(min(n_neighbors, n), np.int64)
    nearby = nearby[: nearest(sims, nearby)]
    votes = weigh_votes(sims, nearby, power)
    nearby = nearby[: votes.size]
    for i in range(nearby.size):
        nearby[i] += shifts[nearby[i]]
    for c in chosen:
        places[c] = -1
    return tally_votes(votes, nearby, tagging[0], tagging[1], tagging[2])


@njit(cache=True, nogil=True)
def _votes_of_row(words, values, mixture, search, n_neighbors, power, scratch):
    """`_votes_in_classes` of the most probable ones; `search` is (index, tagging, idf, classes to look into)."""
    index, tagging, idf, n_chosen = search
    lp, weights, places = scratch
    chosen = np.empty(n_chosen, np.int64)
    class_log_weights(words, values, mixture, lp, weights)
    _most_probable(weights, chosen)
    return _votes_in_classes(words, values, chosen, index, tagging, idf, n_neighbors, power, places)


@njit(cache=True, nogil=True)
def rerank_rows(data, indices, indptr, mixture, search, n_neighbors, power, tags, scores, voters):
    """The best tags of CSR rows by votes in their most probable classes; returns how many rows got none."""
    lp, weights = _scratch(mixture)
    scratch, lost = (lp, weights, np.full(weights.size, -1)), 0
    for i in range(indptr.size - 1):
        row = slice(indptr[i], indptr[i + 1])
        candidates, sums = _votes_of_row(indices[row], data[row], mixture, search, n_neighbors, power, scratch)
        voters[i] = sums.size
        if sums.size:
            best_tags(candidates, sums, tags[i], scores[i])
        else:
            lost += 1
    return lost


@njit(cache=True, nogil=True)
def rerank_score_rows(data, indices, indptr, mixture, search, n_neighbors, power, scores, voters):
    """Scores of all tags, added to the zeros in `scores`; the same sums as those of `rerank_rows`."""
    lp, weights = _scratch(mixture)
    scratch = lp, weights, np.full(weights.size, -1)
    for i in range(indptr.size - 1):
        row = slice(indptr[i], indptr[i + 1])
        candidates, sums = _votes_of_row(indices[row], data[row], mixture, search, n_neighbors, power, scratch)
        voters[i] = sums.size
        for c in range(sums.size):
            scores[i, candidates[c]] = sums[c]


@njit(cache=True, nogil=True)
def ranked_rows(data, indices, indptr, mixture, ranking, tags, scores):
    """`merge_ranked` of CSR rows; places that no class fills get tag -1."""
    rank_starts, ids, log_ranks = ranking
    lp, posterior = _scratch(mixture)
    for i in range(indptr.size - 1):
        row = slice(indptr[i], indptr[i + 1])
        class_log_posterior(indices[row], data[row], mixture, lp, posterior)
        filled = merge_ranked(posterior, rank_starts, ids, log_ranks, tags[i], scores[i])
        tags[i, filled:], scores[i, filled:] = -1, UNRANKED
