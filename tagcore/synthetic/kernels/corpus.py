"""Draws planted documents: every one from a random stream of its own, keyed by (seed, number of the document).

All distributions stand in one table: row r draws from ids[starts[r]:starts[r + 1]] by `cumulative`. Its rows are
topics, any word, any tag, then per topic its words, per topic its tag slots, per slot its words.
"""

import numpy as np
from numba import njit

from tagcore.kernels.copying import copy_into
from tagcore.kernels.random.streams import open_stream, uniform

TOPICS, ANY_WORD, ANY_TAG, FIRST_TOPIC = 0, 1, 2, 3

SEASON = 105_120  # documents in a year, one every five minutes
DRIFT = 0.4  # how far a topic's popularity swings over a season
FOCUS = 0.45  # share of topical words that are about the main tag rather than the topic as a whole
ASIDE = 0.3  # share of topical words about the second topic, where there is one
STRAY = 0.4  # tags stray less than words do
AGREE = 0.8  # chance that a later user also gives the first tag; the p-th has 1 / p of it
FOLLOW = 0.5  # chance that one more user tags the document
FAITHFUL = 0.7  # chance that a user tags inside the favourite topic
MOST_USERS = 8


@njit(cache=True, nogil=True)
def about(mean, spread, state):
    """A whole number whose mean is `mean`, at most `spread` away before it is rounded up or down at random."""
    return int(mean + spread * (2.0 * uniform(state) - 1.0) + uniform(state))


@njit(cache=True, nogil=True)
def draw(row, starts, ids, cumulative, state):
    low, high = starts[row], starts[row + 1] - 1
    u = uniform(state)
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return ids[low]


@njit(cache=True, nogil=True)
def draw_topic(document, n_topics, starts, ids, cumulative, state):
    """Popularity drifts over the year: a triangle wave, another phase for every topic."""
    while True:
        topic = draw(TOPICS, starts, ids, cumulative, state)
        phase = (document / SEASON + topic / n_topics) % 1.0
        if uniform(state) * (1.0 + DRIFT) < 1.0 + DRIFT * (abs(4.0 * phase - 2.0) - 1.0):
            return topic


@njit(cache=True, nogil=True)
def draw_topics(seed, first, n, n_topics, starts, ids, cumulative):
    """The main topic of documents first .. first + n - 1."""
    topics = np.empty(n, np.int32)
    state = np.empty(1, np.uint64)
    for i in range(n):
        open_stream(seed, first + i, state)
        topics[i] = draw_topic(first + i, n_topics, starts, ids, cumulative, state)
    return topics


@njit(cache=True, nogil=True)
def _draw_user(topic, n_topics, n_users, state):
    """Users topic, topic + n_topics, ... have this favourite; the earlier ones are busier."""
    fans = (n_users - topic + n_topics - 1) // n_topics if n_users > topic else 0
    if fans > 0 and uniform(state) < FAITHFUL:
        u = uniform(state)
        return topic + n_topics * int(u * u * fans)
    return int(uniform(state) * n_users)


@njit(cache=True, nogil=True)
def _draw_users(topic, n_topics, n_users, users, state):
    """Distinct users into `users`; returns how many. Nameless ones (n_users = 0) are all -1."""
    n = 0
    while n < MOST_USERS:
        user = _draw_user(topic, n_topics, n_users, state) if n_users else -1
        if user < 0 or not np.any(users[:n] == user):
            users[n] = user
            n += 1
        if uniform(state) >= FOLLOW:
            break
    return n


@njit(cache=True, nogil=True)
def _draw_tags(main, topic, second, n_topics, mean, noise, slot_tags, starts, ids, cumulative, tags, state):
    """Distinct tags into `tags`, that of the main slot first; returns how many."""
    wanted = max(1, about(mean, mean - 1.0, state))
    n = 0
    for attempt in range(4 * wanted):  # a topic may have fewer tags than are wanted
        if uniform(state) < STRAY * noise:
            tag = draw(ANY_TAG, starts, ids, cumulative, state)
        elif attempt == 0:
            tag = slot_tags[main]
        else:
            of = second if second >= 0 and uniform(state) < 0.5 else topic
            tag = slot_tags[draw(FIRST_TOPIC + n_topics + of, starts, ids, cumulative, state)]
        if not np.any(tags[:n] == tag):
            tags[n] = tag
            n += 1
            if n == wanted:
                break
    return n


@njit(cache=True, nogil=True)
def draw_words(main, topic, second, n_topics, noise, starts, ids, cumulative, words, state):
    for w in range(words.size):
        if uniform(state) < noise:
            row = ANY_WORD
        elif second >= 0 and uniform(state) < ASIDE:
            row = FIRST_TOPIC + second
        elif uniform(state) < FOCUS:
            row = FIRST_TOPIC + 2 * n_topics + main
        else:
            row = FIRST_TOPIC + topic
        words[w] = draw(row, starts, ids, cumulative, state)


@njit(cache=True, nogil=True)
def draw_documents(
    seed, first, n, n_topics, n_users, mean_words, mean_tags, mixing, noise, slot_tags, starts, ids, cumulative
):
    """(word_starts, words, title_starts, titles, taggings) of documents first .. first + n - 1.

    Rows of `taggings` are (document of the block, tag, user, count, how many users came before).
    """
    most_words, most_tags = int(1.5 * mean_words) + 1, int(2.0 * mean_tags)
    words, word_starts = np.empty(n * most_words, np.int32), np.zeros(n + 1, np.int64)
    titles, title_starts = np.empty(n * 4, np.int32), np.zeros(n + 1, np.int64)
    taggings = np.empty((n * most_tags * (MOST_USERS if n_users else 1), 5), np.int64)
    tags, users, counts = np.empty(most_tags, np.int64), np.empty(MOST_USERS, np.int64), np.empty(most_tags, np.int64)
    state = np.empty(1, np.uint64)
    rows = 0
    for i in range(n):
        open_stream(seed, first + i, state)
        topic = draw_topic(first + i, n_topics, starts, ids, cumulative, state)
        main = draw(FIRST_TOPIC + n_topics + topic, starts, ids, cumulative, state)
        second = -1
        if uniform(state) < mixing:
            second = draw_topic(first + i, n_topics, starts, ids, cumulative, state)

        n_tags = _draw_tags(
            main, topic, second, n_topics, mean_tags, noise, slot_tags, starts, ids, cumulative, tags, state
        )
        given_by = _draw_users(topic, n_topics, n_users, users, state)
        counts[:n_tags] = 0
        for before in range(given_by):
            for p in range(n_tags):
                if before == 0 or uniform(state) * (p + 1) < AGREE:
                    counts[p] += 1
                    if n_users:
                        taggings[rows] = (i, tags[p], users[before], 1, before)
                        rows += 1
        if not n_users:
            for p in range(n_tags):
                taggings[rows] = (i, tags[p], -1, counts[p], 0)
                rows += 1

        stop = title_starts[i] + 2 + int(3.0 * uniform(state))
        draw_words(main, topic, -1, n_topics, 0.0, starts, ids, cumulative, titles[title_starts[i] : stop], state)
        title_starts[i + 1] = stop
        stop = word_starts[i] + max(1, about(mean_words, 0.5 * mean_words, state))
        draw_words(main, topic, second, n_topics, noise, starts, ids, cumulative, words[word_starts[i] : stop], state)
        word_starts[i + 1] = stop
    return word_starts, words[: word_starts[n]], title_starts, titles[: title_starts[n]], taggings[:rows]


@njit(cache=True, nogil=True)
def render(word_starts, words, name_starts, names, first, sentence, full_stop):
    """(offsets, bytes) of the words of every row as text, in sentences of `sentence` to `sentence` + 6 words."""
    n = word_starts.size - 1
    size = 0
    for w in words:
        size += name_starts[w + 1] - name_starts[w] + 2
    out, offsets = np.empty(size, np.uint8), np.zeros(n + 1, np.int64)
    at = 0
    for i in range(n):
        left = 0
        for w in range(word_starts[i], word_starts[i + 1]):
            if w > word_starts[i]:
                out[at] = 32
                at += 1
            a, b = name_starts[words[w]], name_starts[words[w] + 1]
            copy_into(out[at:], names[a:b])
            if left == 0:
                left = sentence + (first + i + w - word_starts[i]) % 7
                if 97 <= out[at] <= 122:
                    out[at] -= 32
            at += b - a
            left -= 1
            if full_stop and (left == 0 or w + 1 == word_starts[i + 1]):
                out[at] = 46
                at += 1
        offsets[i + 1] = at
    return offsets, out[:at]
