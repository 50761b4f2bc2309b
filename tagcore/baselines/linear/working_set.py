"""Linear support vector machines of many tags, each on the few documents that decide it.

A machine starts with the documents of its tag and some others, is solved on these, then takes in those of the rest
that it gets wrong, until there are none. While it is far from that it is solved roughly. The rest is looked at for a
block of tags at once: one read of all rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.baselines.linear.kernels.dual_coordinate import dual_descent
from tagcore.baselines.linear.tag_blocks import BlockSettings, Solution, rows_with_constant
from tagcore.kernels.sparse import multiply_dense_fused
from tagcore.numeric.read_only import freeze
from tagcore.shards import Arrays

LANES = 32  # tags per block
_OPENING = 64  # documents that a machine starts with beside those of its tag
_INTAKE = 256  # new documents that it may always take in at once
_ROUGH = 0.1  # how closely, at first, and then as a share of how wrong it gets a document that it has not seen


@dataclass(frozen=True)
class WorkingSetSettings(BlockSettings):
    """Settings of working sets: beside how closely to solve, the problem (cost, loss, weights of the two sides)."""

    cost: float
    squared: bool
    balanced: bool
    seed: int

    def bounds(self, carriers: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Gives (upper bounds of α, addition to the diagonal of Q), each for documents without and with the tag."""
        costs = np.full(2, float(self.cost))
        if self.balanced:
            costs *= n / (2.0 * np.array([n - carriers, carriers]))
        return (np.full(2, np.inf), 0.5 / costs) if self.squared else (costs, np.zeros(2))


def shared_rows(X: sp.csr_matrix, intercept: bool, seed: int) -> Arrays:
    """Gives the documents as every machine reads them, and the opening ones."""
    rows = rows_with_constant(X, intercept)
    squares = np.add.reduceat(np.append(np.square(rows["data"], dtype=np.float64), 0.0), rows["indptr"][:-1])
    squares[np.diff(rows["indptr"]) == 0] = 0.0  # reduceat gives the next row's first value there
    opening = np.random.default_rng(seed).permutation(X.shape[0])[:_OPENING]
    indices = rows["indices"].view(f"u{rows['indices'].itemsize}")  # kernels need not ask whether they are negative
    return {**rows, "indices": indices, "squares": squares, "opening": opening}


def solve_by_working_sets(
    settings: WorkingSetSettings, numbers: np.ndarray, carriers: list[np.ndarray], rows: Arrays
) -> Iterator[Solution]:
    """Yields the machines of all tags, block by block; `passes` are those over the documents that decide."""
    for start in range(0, len(carriers), LANES):
        block = slice(start, start + LANES)
        weights, passes, gaps = _solve_block(settings, numbers[block], carriers[block], rows)
        for t in range(len(passes)):
            yield Solution(start + t, weights[:, t], int(passes[t]), float(gaps[t]))


def _solve_block(
    settings: WorkingSetSettings, numbers: np.ndarray, carriers: list[np.ndarray], rows: Arrays
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gives (weights, one column per tag; passes over its members; gap that was left)."""
    csr = rows["data"], rows["indices"], rows["indptr"]
    n, width = rows["squares"].size, int(rows["width"]) + 1
    weights, margins = np.zeros((width, LANES), np.float32), np.empty((n, LANES), np.float32)
    members = [np.union1d(c, rows["opening"]) for c in carriers]
    signs = [np.where(np.isin(m, c), 1.0, -1.0) for m, c in zip(members, carriers, strict=True)]
    alphas = [np.zeros(m.size) for m in members]
    seeds = [np.random.SeedSequence((settings.seed, int(t))).generate_state(1, np.uint64)[0] for t in numbers]
    passes, gaps = np.zeros(len(carriers), np.int64), np.zeros(len(carriers))
    tols = np.full(len(carriers), max(settings.tol, _ROUGH))
    pending, w = list(range(len(carriers))), np.empty(width)
    while pending:
        for t in pending:
            bounds = settings.bounds(carriers[t].size, n)
            limits = tols[t], settings.max_iter, seeds[t]
            done, gaps[t] = dual_descent(*csr, rows["squares"], members[t], signs[t], *bounds, alphas[t], w, *limits)
            passes[t] += done
            weights[:, t] = w
        multiply_dense_fused(*csr, freeze(weights), margins)
        solved = []
        for t in pending:
            new, excess = _most_wrong(margins[:, t], members[t], settings.tol)
            if not new.size and tols[t] == settings.tol:
                solved.append(t)
            members[t] = np.concatenate([members[t], new])
            signs[t] = np.concatenate([signs[t], np.full(new.size, -1.0)])
            alphas[t] = np.concatenate([alphas[t], np.zeros(new.size)])
            tols[t] = max(settings.tol, _ROUGH * min(excess, 1.0))
        pending = [t for t in pending if t not in solved]
    return weights, passes, gaps


def _most_wrong(margins: np.ndarray, members: np.ndarray, tol: float) -> tuple[np.ndarray, float]:
    """Gives the worst documents outside the members, those whose margin -w·x is below 1 - tol, and by how much the
    worst of all falls short of 1; 0 where there are none.
    """
    excess = margins + np.float32(1.0)
    excess[members] = 0.0
    wrong = np.flatnonzero(excess > tol)
    worst = float(excess[wrong].max(initial=0.0))
    intake = max(members.size, _INTAKE)
    if wrong.size > intake:
        wrong = wrong[np.argpartition(-excess[wrong], intake)[:intake]]
    return wrong, worst
