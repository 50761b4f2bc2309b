"""The graph of documents on one side, tags and words on the other (PMM, eq. 10).

Tags and words both touch documents only, so W of eq. 10 is one bipartite graph with the weights C = [γ·Y | B]. The
square matrix over all nodes is never formed: the singular triplets (σ, u, v) of Ĉ = D_d^-½ C D_e^-½ give the eigenpairs
1 ∓ σ of its normalised Laplacian, with the vectors (u, ±v)/√2.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from tagcore.shards import Arrays, Executor, Shard, Shards, row_shards

POLICIES = ("raw", "balanced", "tags", "words")


def bipartite_graph(Y: sp.csr_matrix, B: sp.csr_matrix, policy: str = "balanced") -> "BipartiteGraph":
    """Builds the graph of taggings Y (m × n, counts) and words B (m × p, counts), without nodes of degree 0.

    `policy` sets γ: "raw" is 1, "balanced" ΣB / ΣY, so that tags and words weigh the same in total; "tags" and "words"
    leave out the edges of the other kind, whose nodes then have degree 0.
    """
    Y, B = _checked_weights(Y, "Y"), _checked_weights(B, "B")
    if Y.shape[0] != B.shape[0]:
        raise ValueError(f"Y has {Y.shape[0]} documents, B has {B.shape[0]}")
    gamma, beta = scales(Y.sum(), B.sum(), policy)
    C = sp.hstack([gamma * Y, beta * B], format="csr")
    C.eliminate_zeros()
    documents, columns = np.flatnonzero(np.diff(C.indptr)), np.unique(C.indices)
    if not documents.size:
        raise ValueError(f"the graph has no edge under the policy {policy!r}: no document has a tag or word")
    return BipartiteGraph(C[documents][:, columns], documents, columns, (*Y.shape, B.shape[1]), gamma)


@dataclass(frozen=True, eq=False)
class BipartiteGraph:
    """Weights between documents and columns, all of positive degree, and which nodes of the data they are."""

    weights: sp.csr_matrix  # C, documents × columns
    documents: np.ndarray  # the row in the data of each document
    columns: np.ndarray  # the column in [Y | B] of each column: tag t is t, word j is n + j
    shape: tuple[int, int, int]  # m documents, n tags, p words in the data
    gamma: float

    @cached_property
    def document_degrees(self) -> np.ndarray:
        """d, the sum of each row."""
        return np.asarray(self.weights.sum(axis=1)).ravel()

    @cached_property
    def column_degrees(self) -> np.ndarray:
        """e, the sum of each column."""
        return np.asarray(self.weights.sum(axis=0)).ravel()

    @cached_property
    def volume(self) -> float:
        """vol = Σd = Σe."""
        return float(self.document_degrees.sum())

    @property
    def n_tags(self) -> int:
        """The number of columns that are tags: these come first."""
        return int(np.searchsorted(self.columns, self.shape[1]))

    @property
    def tags(self) -> np.ndarray:
        """The tag of each of the first `n_tags` columns."""
        return self.columns[: self.n_tags]

    @property
    def words(self) -> np.ndarray:
        """The word of each of the other columns."""
        return self.columns[self.n_tags :] - self.shape[1]

    def to_documents(self, values: np.ndarray, missing: Any) -> np.ndarray:
        """Gives one value per document of the data; `missing` where a document is not in the graph."""
        return _scatter(values, self.documents, self.shape[0], missing)

    def to_tags(self, values: np.ndarray, missing: Any) -> np.ndarray:
        """Gives one value per tag of the data, from one per column."""
        return _scatter(values[: self.n_tags], self.tags, self.shape[1], missing)

    def to_words(self, values: np.ndarray, missing: Any) -> np.ndarray:
        """Gives one value per word of the data, from one per column."""
        return _scatter(values[self.n_tags :], self.words, self.shape[2], missing)

    def normalised(self) -> sp.csr_matrix:
        """Gives Ĉ = D_d^-½ C D_e^-½."""
        left, right = self._scaling()
        rows = np.repeat(left, np.diff(self.weights.indptr))
        data = self.weights.data * rows * right[self.weights.indices]
        return sp.csr_matrix((data, self.weights.indices, self.weights.indptr), shape=self.weights.shape)

    def operator(self, n_shards: int = 1, executor: Executor | None = None) -> "GraphOperator":
        """Gives Ĉ as products only, each a pass over shards of documents: C is scaled on the way and not copied."""
        return GraphOperator(self.weights, *self._scaling(), n_shards, executor)

    def trivial_triplet(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Gives (1, √(d/vol), √(e/vol)), the first singular triplet of every graph."""
        return 1.0, np.sqrt(self.document_degrees / self.volume), np.sqrt(self.column_degrees / self.volume)

    def _scaling(self) -> tuple[np.ndarray, np.ndarray]:
        return self.document_degrees**-0.5, self.column_degrees**-0.5


class GraphOperator(LinearOperator):
    """Ĉ over shards of rows: Ĉx stacks what the shards return, Ĉᵀy sums it as a fixed tree.

    The same number of shards gives the same bits wherever they live. Vectors or blocks of vectors are taken alike.
    """

    def __init__(
        self, weights: sp.csr_matrix, left: np.ndarray, right: np.ndarray, n_shards: int, executor: Executor | None
    ) -> None:
        super().__init__(np.float64, weights.shape)
        self._right = right
        rows = row_shards(weights.shape[0], n_shards)
        parts = [(weights[part], left[part]) for part in rows]
        self._shards = Shards(parts, tuple, executor, [part.start for part in rows])

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        scaled = self._right[:, None] * np.asarray(X, np.float64)
        return np.concatenate(self._shards.collect(_times, x=scaled))

    def _rmatmat(self, X: np.ndarray) -> np.ndarray:
        return self._right[:, None] * self._shards.sum(_transposed_times, y=np.asarray(X, np.float64))["z"]

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._matmat(np.reshape(x, (-1, 1)))[:, 0]

    def _rmatvec(self, x: np.ndarray) -> np.ndarray:
        return self._rmatmat(np.reshape(x, (-1, 1)))[:, 0]


def _times(shard: Shard, state: Arrays, x: np.ndarray) -> np.ndarray:
    weights, left = shard.data
    return left[:, None] * (weights @ x)


def _transposed_times(shard: Shard, state: Arrays, y: np.ndarray) -> Arrays:
    weights, left = shard.data
    return {"z": weights.T @ (left[:, None] * y[shard.first : shard.first + left.size])}


def scales(tags: float, words: float, policy: str) -> tuple[float, float]:
    """Gives (γ, factor of the words) for the sums of both kinds of edges."""
    if policy == "balanced":
        # where one side is empty there is nothing to balance
        return (float(words / tags), 1.0) if tags > 0 and words > 0 else (1.0, 1.0)
    factors = {"raw": (1.0, 1.0), "tags": (1.0, 0.0), "words": (0.0, 1.0)}
    if policy not in factors:
        raise ValueError(f"policy must be one of {POLICIES}, got {policy!r}")
    return factors[policy]


def _checked_weights(matrix: Any, name: str) -> sp.csr_matrix:
    matrix = sp.csr_matrix(matrix, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    wrong = ~(np.isfinite(matrix.data) & (matrix.data >= 0))
    if wrong.any():
        at = int(wrong.argmax())
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        place = f"document {row}, column {matrix.indices[at]} of {name}"
        raise ValueError(f"{place} has the weight {matrix.data[at]}, expected a number ≥ 0")
    return matrix


def _scatter(values: np.ndarray, places: np.ndarray, size: int, missing: Any) -> np.ndarray:
    values = np.asarray(values)
    whole = np.full((size, *values.shape[1:]), missing, np.result_type(values, missing))
    whole[places] = values
    return whole
