"""Snowball stems, each distinct word once."""

import threading
from functools import cache, lru_cache

_REMEMBERED = 1 << 17  # words, about 20 MB


def languages() -> list[str]:
    """Names the languages that have stems."""
    from snowballstemmer import algorithms  # here, as few corpora are stemmed: all its languages are imported

    return sorted(algorithms())


class Stemmer:
    """Stems of words in one of the `languages`."""

    def __init__(self, language: str) -> None:
        from snowballstemmer import stemmer

        self._lock = threading.Lock()  # a Snowball stemmer holds the word it is at work on
        self._stem = lru_cache(_REMEMBERED)(stemmer(language).stemWord)

    def __call__(self, words: list[str]) -> list[str]:
        with self._lock:
            return [self._stem(word) for word in words]


@cache
def stemmer_of(language: str) -> Stemmer:
    """Gives the one stemmer of a language that this process has, with the words that it remembers."""
    return Stemmer(language)
