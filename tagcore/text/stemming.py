"""Snowball stems, each distinct word once."""

import threading
from functools import cache, lru_cache

import snowballstemmer

LANGUAGES = frozenset(snowballstemmer.algorithms())

_REMEMBERED = 1 << 17  # words, about 20 MB


class Stemmer:
    """Stems of words in one of the `LANGUAGES`."""

    def __init__(self, language: str) -> None:
        self._lock = threading.Lock()  # a Snowball stemmer holds the word it is at work on
        self._stem = lru_cache(_REMEMBERED)(snowballstemmer.stemmer(language).stemWord)

    def __call__(self, words: list[str]) -> list[str]:
        with self._lock:
            return [self._stem(word) for word in words]


@cache
def stemmer_of(language: str) -> Stemmer:
    """Gives the one stemmer of a language that this process has, with the words that it remembers."""
    return Stemmer(language)
