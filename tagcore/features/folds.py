"""Which documents to learn from are held out of which fit, so that scores of unseen ones can be learnt from."""

import numpy as np

NEVER = -1  # the fold of documents that are in every fit

_PARTS, _PARTS_OF_MANY = 5, 4  # a fold is one of so many parts
_FEW = 5_000  # below it every document is held out once
_FEWEST = 20  # below it none is
_HALVED = 800  # documents of a fold that is large enough to teach by half of it
_MOST = 20_000  # documents of a fold: more teach a calibrator nothing new


def fold_numbers(n: int, n_folds: int | None, seed: int) -> np.ndarray:
    """The fold that each of n documents is held out in, drawn at random: `n_folds` fifths of them. None: all fifths of
    few, a quarter of many."""
    folds = np.full(n, NEVER)
    if n >= _FEWEST:
        parts = _PARTS if n_folds or n < _FEW else _PARTS_OF_MANY
        wanted = n_folds or (parts if n < _FEW else 1)
        order = np.random.default_rng(seed).permutation(n)
        drawn = np.where(order // parts < _MOST, order % parts, NEVER)
        folds[drawn < wanted] = drawn[drawn < wanted]
    return folds


def first_fold(n: int, seed: int) -> np.ndarray:
    """Marks the documents of the first fold; none where there are too few."""
    return fold_numbers(n, None, seed) == 0


def part_numbers(folds: np.ndarray, seed: int) -> np.ndarray:
    """Cuts every fold at random into parts, numbered over all folds: two halves, or fifths of a small fold, so that
    enough documents stay in the others."""
    parts = np.full(folds.size, NEVER)
    order = np.random.default_rng([seed, 1]).permutation(folds.size)
    first = 0
    for fold in np.unique(folds[folds != NEVER]):
        documents = order[folds[order] == fold]
        n_parts = 2 if documents.size >= _HALVED else 5
        parts[documents] = first + np.arange(documents.size) % n_parts
        first += n_parts
    return parts
