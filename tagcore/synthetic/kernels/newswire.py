"""Draws counted words of stories whose topics are given, each from a stream of its own, keyed by (seed, number).

Row t of the alias tables draws a place in `words`, one of topic t; the last row those of no topic.
"""

import numpy as np
from numba import njit

from tagcore.kernels.copying import copy_into
from tagcore.kernels.random.streams import draw_alias, normal, open_stream, uniform

SPREAD = 0.70  # of the logarithm of a story's length; Reuters' is 0.70
REPEAT = 0.25  # chance that a word is one that the story has used already: news repeats itself
PATIENCE = 20  # draws per wanted word; a vocabulary may be smaller than a story is long


@njit(cache=True, nogil=True)
def draw_stories(
    seed,
    first,
    n,
    n_frozen,
    label_starts,
    labels,
    parents,
    mean_words,
    noise,
    inherit,
    stray,
    n_words,
    words,
    tables,
):
    """(row_starts, indices, counts) of stories first .. first + n - 1; `labels` are CSR, stray ones of the n_frozen."""
    centre = np.log(mean_words) - 0.5 * SPREAD**2
    sizes = np.empty(n, np.int64)
    state = np.empty(1, np.uint64)
    for i in range(n):
        open_stream(seed, first + i, state)
        sizes[i] = _length(centre, n_words, state)
    row_starts = np.zeros(n + 1, np.int64)
    for i in range(n):
        row_starts[i + 1] = row_starts[i] + sizes[i]
    indices, counts = np.empty(row_starts[n], np.int32), np.empty(row_starts[n], np.float32)

    used = np.zeros(n_words, np.int32)
    tokens = np.empty(PATIENCE * (sizes.max() if n else 0), np.int32)
    most = np.diff(label_starts[first : first + n + 1]).max() + 1 if n else 1
    about, shares = np.empty(most, np.int64), np.empty(most)
    at = 0
    for i in range(n):
        open_stream(seed, first + i, state)
        size = _length(centre, n_words, state)
        n_about = _topics(first + i, n_frozen, label_starts, labels, stray, about, shares, state)
        found, drawn = at, 0
        while found < at + size and drawn < PATIENCE * size:
            if drawn > 0 and uniform(state) < REPEAT:
                word = tokens[int(uniform(state) * drawn)]
            else:
                row = _row(about[:n_about], shares, parents, noise, inherit, state)
                word = words[draw_alias(row, tables, state)]
            tokens[drawn] = word
            drawn += 1
            if used[word] == 0:
                indices[found] = word
                found += 1
            used[word] += 1
        indices[at:found].sort()
        for j in range(at, found):
            counts[j] = used[indices[j]]
            used[indices[j]] = 0
        row_starts[i + 1] = found
        at = found
    return row_starts, indices[:at], counts[:at]


@njit(cache=True, nogil=True)
def _length(centre, n_words, state):
    """Different words of a story: log-normal."""
    return max(1, min(n_words, int(np.exp(centre + SPREAD * normal(state)) + 0.5)))


@njit(cache=True, nogil=True)
def _topics(story, n_frozen, label_starts, labels, stray, about, shares, state):
    """The story's topics into `about` and the sums of how much it says of each into `shares`; returns how many.

    A straying story is also about a topic of another, which the labels do not say.
    """
    a, b = label_starts[story], label_starts[story + 1]
    n = b - a
    copy_into(about, labels[a:b])
    if uniform(state) < stray:
        other = int(uniform(state) * n_frozen)
        c, d = label_starts[other], label_starts[other + 1]
        if d > c:
            about[n] = labels[c + int(uniform(state) * (d - c))]
            n += 1
    total = 0.0
    for j in range(n):
        total -= np.log((1.0 - uniform(state)) * (1.0 - uniform(state)))  # the shares are Dirichlet(2, ..., 2)
        shares[j] = total
    return n


@njit(cache=True, nogil=True)
def _row(about, shares, parents, noise, inherit, state):
    """The distribution that the next word comes from: a topic, one of its ancestors, or the last, of no topic."""
    if about.size == 0 or uniform(state) < noise:
        return parents.size
    u, j = uniform(state) * shares[about.size - 1], 0
    while shares[j] <= u and j < about.size - 1:
        j += 1
    topic = about[j]
    while parents[topic] >= 0 and uniform(state) < inherit:
        topic = parents[topic]
    return topic


@njit(cache=True, nogil=True)
def weigh(row_starts, indices, counts, idf):
    """(1 + ln tf) · idf in the place of counts, every row brought to length 1."""
    for i in range(row_starts.size - 1):
        total = 0.0
        for j in range(row_starts[i], row_starts[i + 1]):
            counts[j] = (1.0 + np.log(counts[j])) * idf[indices[j]]
            total += float(counts[j]) ** 2
        scale = 1.0 / np.sqrt(total) if total > 0.0 else 0.0
        for j in range(row_starts[i], row_starts[i + 1]):
            counts[j] *= scale
