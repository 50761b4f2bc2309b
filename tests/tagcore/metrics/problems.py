"""Small tagging problems with ties, documents without tags, tags without documents, and single columns."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagcore.scoring.blocks import ScorePart, unknown_truth


@st.composite
def truth_and_scores(draw: st.DrawFn, max_rows: int = 12, max_labels: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Counts (n, L) and scores of few different values, so that ties abound."""
    shape = draw(st.integers(1, max_rows)), draw(st.integers(1, max_labels))
    counts = draw(arrays(np.int64, shape, elements=st.sampled_from([0, 0, 1, 3])))
    scores = draw(arrays(np.float64, shape, elements=st.sampled_from([-2.5, -1e-300, 0.0, 1e-300, 0.5, 7.0])))
    return counts, scores


def ranking(scores: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def messy_csr(counts: np.ndarray) -> sp.csr_matrix:
    """The same truth as a matrix may really arrive: unsorted, a stored zero per row, a value split in two."""
    rows, labels = np.nonzero(counts)
    last = counts.shape[1] - 1
    every = np.arange(len(counts))
    i = np.concatenate([rows[::-1], rows, every])
    j = np.concatenate([labels[::-1], labels, np.full(len(counts), last)])
    values = np.concatenate([counts[rows, labels][::-1] / 2, counts[rows, labels] / 2, np.zeros(len(counts))])
    order = np.argsort(i, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(counts)))])
    return sp.csr_matrix((values[order], j[order], indptr), shape=counts.shape)


def blocks_of(scores: np.ndarray, step: int) -> Callable[[], Iterator[tuple[slice, np.ndarray]]]:
    """Walks over the scores, with one buffer for all blocks, as a careful model might have."""

    def walk() -> Iterator[tuple[slice, np.ndarray]]:
        buffer = np.empty((step, scores.shape[1]))
        for start in range(0, len(scores), step):
            block = scores[start : start + step]
            buffer[: len(block)] = block
            yield slice(start, start + step), buffer[: len(block)]

    return walk


class InParts:
    """Scores cut before the rows `cuts`, as `PartitionedScores`; parts may be empty. Sums run from the left."""

    def __init__(
        self, scores: np.ndarray, cuts: Sequence[int], step: int = 3, X: Any = None, truth: Any = None
    ) -> None:
        self.shape = n, _ = scores.shape
        truth = unknown_truth(*scores.shape) if truth is None else truth
        edges = [0, *sorted(min(cut, n) for cut in cuts), n]
        self.parts = [
            ScorePart(blocks_of(scores[a:b], step), truth[a:b], a, None if X is None else X[a:b])
            for a, b in itertools.pairwise(edges)
        ]

    def collect(self, step: Callable[..., Any], **shared: Any) -> list:
        return [step(part, **shared) for part in self.parts]

    def sum(self, step: Callable[..., Any], **shared: Any) -> dict[str, Any]:
        return reduce(lambda a, b: {k: a[k] + b[k] for k in a}, self.collect(step, **shared))
