"""Nearest documents through an inverted index, and the tags they vote for.

The index holds, word after word, the documents that contain it and their weights, and of common words all documents
(see `index.py`); rows have unit length, so a sum over the words of a unit query is the cosine. Sums run in the order of
the query's words: results repeat to the bit.
"""

import numpy as np
from numba import njit

from tagcore.kernels.neighbours import best_tags, nearest, tally_votes, weigh_votes
from tagcore.kernels.sparse import first_at_least


@njit(cache=True, nogil=True)
def similarities(words, values, index, sims):
    """Cosine of one query with every document; returns the position of a bad word or value, or -1."""
    starts, documents, weights, common_words, columns = index
    square = 0.0
    for at in range(words.size):
        if words[at] < 0 or words[at] >= starts.size - 1 or not np.isfinite(values[at]):
            return at
        square += values[at] * values[at]
    sims[:] = 0.0
    if square == 0.0:
        return -1
    length = np.sqrt(square)
    for at in range(words.size):
        word, weight = words[at], np.float32(values[at] / length)
        common = first_at_least(common_words, 0, common_words.size, word)
        if common < common_words.size and common_words[common] == word:
            column = columns[common]
            for document in range(sims.size):
                sims[document] += weight * column[document]
        else:
            for p in range(starts[word], starts[word + 1]):
                sims[documents[p]] += weight * weights[p]
    return -1


@njit(cache=True, nogil=True)
def suggest(words, values, index, tagging, n_neighbors, power, tags, scores):
    """Best tags of one query. Returns how many neighbours voted, or -1 - the position of a bad word or value."""
    tag_starts, tag_ids, tag_weights = tagging
    sims = np.empty(tag_starts.size - 1, np.float32)
    nearby = np.empty(n_neighbors, np.int64)
    bad = similarities(words, values, index, sims)
    if bad >= 0:
        return -1 - bad
    found = nearby[: nearest(sims, nearby)]
    votes = weigh_votes(sims, found, power)
    if votes.size:
        candidates, sums = tally_votes(votes, found, tag_starts, tag_ids, tag_weights)
        best_tags(candidates, sums, tags, scores)
    return votes.size


@njit(cache=True, nogil=True)
def suggest_rows(data, indices, indptr, index, tagging, n_neighbors, power, tags, scores, voters):
    """`suggest` for CSR rows, whose words are known to be good."""
    for i in range(indptr.size - 1):
        row = slice(indptr[i], indptr[i + 1])
        voters[i] = suggest(indices[row], data[row], index, tagging, n_neighbors, power, tags[i], scores[i])


@njit(cache=True, nogil=True)
def score_rows(data, indices, indptr, index, tagging, n_neighbors, power, scores, voters):
    """Scores of all tags for CSR rows, added to the zeros in `scores`; the same sums as those of `suggest`."""
    tag_starts, tag_ids, tag_weights = tagging
    sims = np.empty(tag_starts.size - 1, np.float32)
    nearby = np.empty(n_neighbors, np.int64)
    for i in range(indptr.size - 1):
        row = slice(indptr[i], indptr[i + 1])
        similarities(indices[row], data[row], index, sims)
        found = nearby[: nearest(sims, nearby)]
        votes = weigh_votes(sims, found, power)
        voters[i] = votes.size
        for j in range(votes.size):
            for p in range(tag_starts[found[j]], tag_starts[found[j] + 1]):
                scores[i, tag_ids[p]] = min(1.0, scores[i, tag_ids[p]] + votes[j] * tag_weights[p])
