"""Draws the texts around planted items: each field from a random stream of its own, about what its item is about."""

import numpy as np
from numba import njit

from tagcore.kernels.random.streams import open_stream, uniform
from tagcore.synthetic.kernels.corpus import FIRST_TOPIC, about, draw, draw_topic, draw_words


@njit(cache=True, nogil=True)
def draw_field(seed, field, first, n, n_topics, mean, noise, mixing, starts, ids, cumulative):
    """(starts, words) of one field of items first .. first + n - 1, which are about what `draw_documents` drew.

    An item may lack the field: its words are about `mean` in number, from none to twice as many.
    """
    words, word_starts = np.empty(n * (int(2.0 * mean) + 1), np.int32), np.zeros(n + 1, np.int64)
    state, own = np.empty(1, np.uint64), np.empty(1, np.uint64)
    for i in range(n):
        open_stream(seed, first + i, state)  # the first draws are those of the document with this number
        topic = draw_topic(first + i, n_topics, starts, ids, cumulative, state)
        main = draw(FIRST_TOPIC + n_topics + topic, starts, ids, cumulative, state)
        second = -1
        if uniform(state) < mixing:
            second = draw_topic(first + i, n_topics, starts, ids, cumulative, state)
        open_stream(seed + np.uint64(field + 1), first + i, own)
        stop = word_starts[i] + about(mean, mean, own)
        into = words[word_starts[i] : stop]
        draw_words(main, topic, second, n_topics, noise, starts, ids, cumulative, into, own)
        word_starts[i + 1] = stop
    return word_starts, words[: word_starts[n]]
