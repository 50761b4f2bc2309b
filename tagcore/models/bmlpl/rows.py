"""The rows of one shard as BMLPL learns from them, and the products with them that every inference method needs."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.kernels.sparse import multiply_dense_fused
from tagcore.models.bmlpl.kernels.em import logistic_parts
from tagcore.numeric.read_only import freeze
from tagcore.shards import Arrays, Shard

CSR = tuple[np.ndarray, np.ndarray, np.ndarray]  # data, indices, indptr
_BATCH = ("data", "indices", "indptr", "column_data", "column_indices", "column_indptr", "labels", "starts")


@dataclass(frozen=True)
class ShardRows:
    """The rows of one shard: X and what is observed of the labels, by rows and by columns; positives by rows.

    The last column of X is the constant, if there is one. Without a mask all labels are observed.
    """

    words: CSR
    words_by_column: CSR
    labels: np.ndarray
    starts: np.ndarray
    observed: CSR | None = None
    observed_by_column: CSR | None = None

    @classmethod
    def from_matrices(cls, part: tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix | None]) -> "ShardRows":
        """Holds X, Y and the mask of a shard as read-only arrays."""
        X, Y, mask = part
        arrays = freeze((_arrays(X), _arrays(X.tocsc()), Y.indices, Y.indptr))
        return cls(*arrays) if mask is None else cls(*arrays, *freeze((_arrays(mask), _arrays(mask.tocsc()))))

    def __len__(self) -> int:
        return self.starts.size - 1

    def project(self, W: np.ndarray) -> np.ndarray:
        """X W."""
        return _product(self.words, W)

    def gather(self, T: np.ndarray) -> np.ndarray:
        """X' T."""
        return _product(self.words_by_column, T)

    def gather_squares(self, T: np.ndarray) -> np.ndarray:
        """(X ∘ X)' T."""
        data, indices, indptr = self.words_by_column
        return _product((data * data, indices, indptr), T)

    def normal_matvec(self, omega: np.ndarray, P: np.ndarray) -> np.ndarray:
        """X' (omega ∘ (X P)), the operator of the M-step without its prior."""
        T = self.project(P)
        T *= omega
        return self.gather(T)

    def coverage(self, V: np.ndarray) -> np.ndarray:
        """s = O V: the share of every topic that a row's mask shows."""
        assert self.observed is not None
        return np.maximum(_product(self.observed, V), V.dtype.type(1e-12))

    def exposure(self, U: np.ndarray) -> np.ndarray:
        """O' U: how much of every topic a label could have shown."""
        assert self.observed_by_column is not None
        return _product(self.observed_by_column, U)

    def take(self, rows: np.ndarray) -> "ShardRows":
        """Gives some of the rows, in that order, without their mask."""
        X = sp.csr_matrix(self.words, shape=(len(self), self.words_by_column[2].size - 1), copy=False)
        width = int(self.labels.max(initial=0)) + 1
        marks = np.ones(self.labels.size, np.int8), self.labels, self.starts
        return ShardRows.from_matrices(
            (X[rows], sp.csr_matrix(marks, shape=(len(self), width), copy=False)[rows], None)
        )


def logistic(psi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sigmoid(psi), tanh(psi / 2) / (2 psi), exp(-|psi|)): a mean, a unit of Pólya-Gamma weight, and their root."""
    e = np.abs(psi)
    np.exp(np.negative(e, out=e), out=e)
    p, half = np.empty_like(psi), np.empty_like(psi)
    logistic_parts(psi, e, psi.dtype.type(np.finfo(psi.dtype).eps ** 0.125), p, half)
    return p, half, e


def product_step(shard: Shard[ShardRows], state: Arrays, P: np.ndarray) -> Arrays:
    """Step: the product of one conjugate-gradient step, with the weights that the E-step left in the state."""
    return {"product": current_rows(shard, state).normal_matvec(state["omega"], P)}


def current_rows(shard: Shard[ShardRows], state: Arrays) -> ShardRows:
    """Gives the minibatch that the state holds, or all rows of the shard."""
    if "batch_starts" not in state:
        return shard.data
    a, b, c, d, e, f, labels, starts = (state[f"batch_{name}"] for name in _BATCH)
    return ShardRows((a, b, c), (d, e, f), labels, starts)


def batch_state(rows: ShardRows) -> Arrays:
    """Gives a minibatch as plain arrays, which a state can hold; `current_rows` reads them."""
    arrays = *rows.words, *rows.words_by_column, rows.labels, rows.starts
    return {f"batch_{name}": values for name, values in zip(_BATCH, arrays, strict=True)}


def _product(A: CSR, B: np.ndarray) -> np.ndarray:
    out = np.empty((A[2].size - 1, B.shape[1]), B.dtype)
    multiply_dense_fused(*freeze(A), freeze(B), out)
    return out


def _arrays(matrix: sp.csr_matrix | sp.csc_matrix) -> CSR:
    return matrix.data, matrix.indices, matrix.indptr
