"""Linear machines of many tags, solved many at a time: the settings and rows that solvers read, the weights kept."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.shards import Arrays


@dataclass(frozen=True)
class BlockSettings:
    """Settings of every solver: how closely to solve, and which weights to keep."""

    tol: float
    max_iter: int
    prune: float


class Solution(NamedTuple):
    """The machine of one tag: where it stood among those given, its weights with the intercept last, the passes it
    took, and the gap of the stopping rule that was left.
    """

    position: int
    weights: np.ndarray
    passes: int
    gap: float


Solver = Callable[..., Iterator[Solution]]  # of (settings, numbers of the tags, documents of each, rows)


def rows_with_constant(X: sp.csr_matrix, intercept: bool) -> Arrays:
    """Gives the documents as float32 CSR, with a last column of ones for the intercept, or of zeros without one."""
    constant = sp.csr_matrix(np.full((X.shape[0], 1), float(intercept)))
    rows = sp.hstack([X, constant], format="csr", dtype=np.float32)
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "width": np.array(X.shape[1])}


def solve_tags(solver: Solver, settings: BlockSettings, tags: Arrays, rows: Arrays) -> Arrays:
    """Solves the machines of some tags: the `number` of each, its documents as `indices` and `indptr`.

    Returns the weights of at least `prune` in magnitude, one machine after the other (words, values, how many of
    each); the intercepts; the passes made, and the gaps that were left.
    """
    carriers = [tags["indices"][start:stop] for start, stop in itertools.pairwise(tags["indptr"])]
    count = len(carriers)
    by_tag: Arrays = {"counts": np.zeros(count, np.int64), "intercepts": np.zeros(count, np.float32)}
    by_tag |= {"passes": np.zeros(count, np.int64), "gaps": np.zeros(count)}
    words, values = [np.empty(0, np.int32)] * max(count, 1), [np.empty(0, np.float32)] * max(count, 1)
    for t, weights, passes, gap in solver(settings, tags["number"], carriers, rows):
        w = weights.astype(np.float32)
        kept = np.flatnonzero(np.abs(w[:-1]) >= max(settings.prune, np.finfo(np.float32).tiny))
        words[t], values[t] = kept.astype(np.int32), w[kept]
        by_tag["counts"][t], by_tag["intercepts"][t] = kept.size, w[-1]
        by_tag["passes"][t], by_tag["gaps"][t] = passes, gap
    return {"words": np.concatenate(words), "values": np.concatenate(values), **by_tag}
