"""Tags of a document from the posterior of its classes: by rank in a class, by shares, by neighbours in few classes."""

import math

import numpy as np
from numba import njit

from tagcore.kernels.neighbours import best_tags, nearest, tally_votes, weigh_votes
from tagcore.models.pmm.kernel import class_log_posterior

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
def share_rows(log_posterior, starts, ids, shares, scores):
    """Adds Σ P(class | document) f(tag | class) of every row to the zeros in `scores`."""
    for i in range(log_posterior.shape[0]):
        for c in range(log_posterior.shape[1]):
            if log_posterior[i, c] < _LEAST:
                continue
            weight = math.exp(log_posterior[i, c])
            for p in range(starts[c], starts[c + 1]):
                scores[i, ids[p]] += weight * shares[p]


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
    square = 0.0
    for q in range(words.size):
        square += _query_weight(values[q], idf[words[q]]) ** 2
    sims = np.zeros(n, np.float32)
    for q in range(words.size if square > 0.0 else 0):
        weight = np.float32(_query_weight(values[q], idf[words[q]]) / math.sqrt(square))
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
    for i in range(nearby.size):  # from places among the candidates to documents
        at = 0
        while at + 1 < chosen.size and places[chosen[at + 1]] <= nearby[i]:
            at += 1
        nearby[i] += documents[chosen[at]] - places[chosen[at]]
    for c in chosen:
        places[c] = -1
    return tally_votes(votes, nearby, tagging[0], tagging[1], tagging[2])


@njit(cache=True, nogil=True)
def rerank_rows(data, indices, indptr, mixture, search, n_neighbors, power, tags, scores, voters):
    """The best tags of CSR rows by votes in their most probable classes.

    `mixture` is (ln λ, ln π, Λ, class starts, ln prior, scale, temper), `search` (index, tagging, idf, classes to look
    into).
    """
    table, log_shares, mass, starts, log_prior, scale, temper = mixture
    index, tagging, idf, n_chosen = search
    lp, posterior = np.empty(log_shares.size, np.float32), np.empty(log_prior.size)
    chosen, places = np.empty(n_chosen, np.int64), np.full(log_prior.size, -1)
    for i in range(indptr.size - 1):
        row = slice(indptr[i], indptr[i + 1])
        words, values = indices[row], data[row]
        class_log_posterior(words, values, table, log_shares, mass, starts, log_prior, scale, temper, lp, posterior)
        _most_probable(posterior, chosen)
        candidates, sums = _votes_in_classes(words, values, chosen, index, tagging, idf, n_neighbors, power, places)
        voters[i] = sums.size
        if sums.size:
            best_tags(candidates, sums, tags[i], scores[i])


@njit(cache=True, nogil=True)
def ranked_rows(data, indices, indptr, mixture, ranking, tags, scores):
    """`merge_ranked` of CSR rows; places that no class fills get tag -1."""
    table, log_shares, mass, starts, log_prior, scale, temper = mixture
    rank_starts, ids, log_ranks = ranking
    lp, posterior = np.empty(log_shares.size, np.float32), np.empty(log_prior.size)
    for i in range(indptr.size - 1):
        row = slice(indptr[i], indptr[i + 1])
        class_log_posterior(
            indices[row], data[row], table, log_shares, mass, starts, log_prior, scale, temper, lp, posterior
        )
        filled = merge_ranked(posterior, rank_starts, ids, log_ranks, tags[i], scores[i])
        tags[i, filled:], scores[i, filled:] = -1, UNRANKED


@njit(cache=True, nogil=True)
def rerank_score_rows(data, indices, indptr, mixture, search, n_neighbors, power, scores, voters):
    """Scores of all tags, added to the zeros in `scores`; the same sums as those of `rerank_rows`."""
    table, log_shares, mass, starts, log_prior, scale, temper = mixture
    index, tagging, idf, n_chosen = search
    lp, posterior = np.empty(log_shares.size, np.float32), np.empty(log_prior.size)
    chosen, places = np.empty(n_chosen, np.int64), np.full(log_prior.size, -1)
    for i in range(indptr.size - 1):
        row = slice(indptr[i], indptr[i + 1])
        words, values = indices[row], data[row]
        class_log_posterior(words, values, table, log_shares, mass, starts, log_prior, scale, temper, lp, posterior)
        _most_probable(posterior, chosen)
        candidates, sums = _votes_in_classes(words, values, chosen, index, tagging, idf, n_neighbors, power, places)
        voters[i] = sums.size
        for c in range(sums.size):
            scores[i, candidates[c]] = sums[c]
