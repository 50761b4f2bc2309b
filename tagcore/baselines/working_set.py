"""Linear support vector machines of many tags, each on the few documents that decide it.

A machine starts with the documents of its tag and some others, is solved on these, then takes in those of the rest
that it gets wrong, until there are none. The rest is looked at for a block of tags at once: one read of all rows.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.kernels.linear import block_margins, dual_descent
from tagcore.shards import Arrays

LANES = 16  # tags per block
_OPENING = 64  # documents that a machine starts with beside those of its tag
_INTAKE = 256  # new documents that it may always take in at once


@dataclass(frozen=True)
class Settings:
    """The problem (cost, loss, weights of the two sides), how closely it is solved, and what is kept."""

    cost: float
    squared: bool
    balanced: bool
    tol: float
    max_iter: int
    seed: int
    prune: float

    def bounds(self, carriers: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """(upper bounds of α, addition to the diagonal of Q), each for documents without and with the tag."""
        costs = np.full(2, float(self.cost))
        if self.balanced:
            costs *= n / (2.0 * np.array([n - carriers, carriers]))
        return (np.full(2, np.inf), 0.5 / costs) if self.squared else (costs, np.zeros(2))


def shared_rows(X: sp.csr_matrix, intercept: bool, seed: int) -> Arrays:
    """The documents as every machine reads them, with a last column for the intercept, and the opening ones."""
    n, width = X.shape
    constant = sp.csr_matrix(np.full((n, 1), float(intercept)))
    X = sp.hstack([X, constant], format="csr", dtype=np.float32)
    return {
        "data": X.data,
        "indices": X.indices,
        "indptr": X.indptr,
        "squares": np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel(),
        "width": np.array(width),
        "opening": np.random.default_rng(seed).permutation(n)[:_OPENING],
    }


def solve_tags(settings: Settings, tags: Arrays, rows: Arrays) -> Arrays:
    """Machines of the tags given: the `number` of each, its documents as `indices` and `indptr`.

    Returns the weights of at least `prune` in magnitude, one machine after the other (words, values, how many of
    each); the intercepts; the passes made, and the gap of the stopping rule that was left.
    """
    count = tags["number"].size
    known: Arrays = {"counts": np.zeros(count, np.int64), "intercepts": np.zeros(count, np.float32)}
    known |= {"passes": np.zeros(count, np.int64), "gaps": np.zeros(count)}
    words, values = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    for start in range(0, count, LANES):
        block = range(start, min(start + LANES, count))
        carriers = [tags["indices"][tags["indptr"][t] : tags["indptr"][t + 1]] for t in block]
        weights, passes, gaps = _solve_block(settings, tags["number"][start : block.stop], carriers, rows)
        known["passes"][start : block.stop], known["gaps"][start : block.stop] = passes, gaps
        for t, w in zip(block, weights.T, strict=False):
            kept = np.flatnonzero(np.abs(w[:-1]) >= max(settings.prune, np.finfo(np.float32).tiny))
            words.append(kept.astype(np.int32))
            values.append(w[kept])
            known["counts"][t], known["intercepts"][t] = kept.size, w[-1]
    return {"words": np.concatenate(words), "values": np.concatenate(values), **known}


def _solve_block(
    settings: Settings, numbers: np.ndarray, carriers: list[np.ndarray], rows: Arrays
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(weights, one column per tag; passes over its members; gap that was left)."""
    csr = rows["data"], rows["indices"], rows["indptr"]
    n, width = rows["squares"].size, int(rows["width"]) + 1
    weights, margins = np.zeros((width, LANES), np.float32), np.empty((n, LANES), np.float32)
    members = [np.union1d(c, rows["opening"]) for c in carriers]
    alphas = [np.zeros(m.size) for m in members]
    seeds = [np.random.SeedSequence((settings.seed, int(t))).generate_state(1, np.uint64)[0] for t in numbers]
    passes, gaps = np.zeros(len(carriers), np.int64), np.zeros(len(carriers))
    pending, w = list(range(len(carriers))), np.empty(width)
    while pending:
        for t in pending:
            signs = np.where(np.isin(members[t], carriers[t]), 1.0, -1.0)
            bounds = settings.bounds(carriers[t].size, n)
            limits = settings.tol, settings.max_iter, seeds[t]
            done, gaps[t] = dual_descent(*csr, rows["squares"], members[t], signs, *bounds, alphas[t], w, *limits)
            passes[t] += done
            weights[:, t] = w
        block_margins(*csr, weights, margins)
        wrong = [_most_wrong(margins[:, t], members[t], settings.tol) for t in pending]
        for t, new in zip(pending, wrong, strict=True):
            members[t] = np.concatenate([members[t], new])
            alphas[t] = np.concatenate([alphas[t], np.zeros(new.size)])
        pending = [t for t, new in zip(pending, wrong, strict=True) if new.size]
    return weights, passes, gaps


def _most_wrong(margins: np.ndarray, members: np.ndarray, tol: float) -> np.ndarray:
    """Documents outside the members whose margin -w·x is below 1 - tol: the worst of them."""
    excess = margins + np.float32(1.0)
    excess[members] = 0.0
    wrong = np.flatnonzero(excess > tol)
    intake = max(members.size, _INTAKE)
    if wrong.size > intake:
        wrong = wrong[np.argpartition(-excess[wrong], intake)[:intake]]
    return wrong
