"""Which documents are held out of which fit, and which of those guard the blend."""

import numpy as np

NEVER = -1  # the fold of documents that are in every fit

_SHARE = 5  # a fold is one of so many parts
_FEW = 5_000  # below it every document is held out once
_FEWEST = 20  # below it none is
_GUARD = 0.2
_MOST_GUARDS = 4_000


def fold_numbers(n: int, n_folds: int | None, seed: int) -> np.ndarray:
    """The fold that each of n documents is held out in: each a fifth of them, drawn at random."""
    folds = np.full(n, NEVER)
    if n >= _FEWEST:
        wanted = n_folds or (_SHARE if n < _FEW else 1)
        drawn = np.random.default_rng(seed).permutation(n) % _SHARE
        folds[drawn < wanted] = drawn[drawn < wanted]
    return folds


def guard_rows(scored: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Marks, among n documents, those of the scored ones that the combiner must not see before the guard's decision."""
    documents = np.unique(scored)
    size = min(max(1, int(_GUARD * documents.size)), _MOST_GUARDS)
    marked = np.zeros(n, np.bool_)
    marked[np.random.default_rng([seed, 1]).permutation(documents)[:size]] = True
    return marked
