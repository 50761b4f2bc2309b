"""Rows under sampled weights, and the counts behind the sampled expected F.

Sums are float64 and run in the order of a row's words, whether the sample is stored or drawn again for every row: both
orders mark the same rows.
"""

import numpy as np
from numba import njit

from tagcore.kernels.random.counter_normals import LANES, fill_normals, word_key


@njit(cache=True, nogil=True)
def count_below(scores, thresholds, below):
    """below[i, c] = how many of thresholds[c], which ascend, are strictly below scores[i, c]."""
    for i in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            low, high = 0, thresholds.shape[1]
            while low < high:
                middle = (low + high) // 2
                if thresholds[c, middle] < scores[i, c]:
                    low = middle + 1
                else:
                    high = middle
            below[i, c] = low


@njit(cache=True, nogil=True)
def draw_weights(mean, variance, words, first, seed, sample, weights):
    """The sample of the weights of these words for the classes from `first`, a multiple of LANES."""
    normals = np.empty(LANES)
    width = weights.shape[1]
    for row in range(words.size):
        d = words[row]
        fill_normals(word_key(seed, sample, d), first, width, normals)
        for j in range(width):
            weights[row, j] = np.float64(mean[d, first + j]) + np.sqrt(np.float64(variance[d, first + j])) * normals[j]


@njit(cache=True, nogil=True)
def mark_stored(data, places, indptr, weights, biases, first, positive):
    """positive[i, c] = ⟨x_i, w_c⟩ - b_c > 0 for the classes of `weights`; places[p] is the row there of a word."""
    width = weights.shape[1]
    totals = np.empty(width)
    for i in range(indptr.size - 1):
        totals[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x, row = np.float64(data[p]), weights[places[p]]
            for j in range(width):
                totals[j] += x * row[j]
        for j in range(width):
            positive[i, first + j] = totals[j] - biases[first + j] > 0.0


@njit(cache=True, nogil=True)
def mark_streaming(data, indices, indptr, mean, variance, width, first, seed, sample, biases, positive):
    """As `mark_stored`, with the weights drawn again for every row."""
    normals, totals = np.empty(LANES), np.empty(width)
    for i in range(indptr.size - 1):
        totals[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x, d = np.float64(data[p]), indices[p]
            fill_normals(word_key(seed, sample, d), first, width, normals)
            for j in range(width):
                w = np.float64(mean[d, first + j]) + np.sqrt(np.float64(variance[d, first + j])) * normals[j]
                totals[j] += x * w
        for j in range(width):
            positive[i, first + j] = totals[j] - biases[first + j] > 0.0


@njit(cache=True, nogil=True)
def follow_parents(classes, parents, positive):
    """A class counts only where its parent does; `classes` names parents before their children, roots left out."""
    for i in range(positive.shape[0]):
        for c in classes:
            positive[i, c] &= positive[i, parents[c]]


@njit(cache=True, nogil=True)
def add_counts(below, positive, histogram):
    """histogram[c, m] += rows that are positive and above m thresholds."""
    for i in range(below.shape[0]):
        for c in range(below.shape[1]):
            histogram[c, below[i, c]] += positive[i, c]
