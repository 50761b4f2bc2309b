"""Cuts from the leading singular triplets of the whole graph alone: the literal step 5 of PMM (section 4.4).

C ≈ P Σ Sᵀ with P = D_d^½ U and S = D_e^½ V, so that every cluster is a product of rows of P and of S. It is normalised
by its true degrees, and its second pair found in a matrix of k × k: a graph is multiplied with once, not for each cut.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.graph.lanczos import golub_kahan
from tagcore.shards import Arrays, Shard, Shards

_STEPS = 300  # of Lanczos, where so many are enough
_TOL = 1e-8


@dataclass(frozen=True, eq=False)
class ThinFactors:
    """The k leading triplets of a graph, a row for each document and column of the data, 0 where it has no edge."""

    left: np.ndarray  # P, documents × k
    sigma: np.ndarray
    right: np.ndarray  # S, columns × k
    degrees: np.ndarray  # of the documents
    captured: float  # Σσ² as a share of the squared norm of the normalised graph

    def coordinates(self) -> np.ndarray:
        """Gives D_d^-½ U of every document."""
        return self.left / np.where(self.degrees > 0, self.degrees, 1.0)[:, None]


def thin_factors(shards: Shards, scale: np.ndarray, k: int, *, most_edges: int, seed: int = 0) -> ThinFactors:
    """Finds the factors of a graph of one shard, where it was put together for its few edges (see `put_together`);
    `scale` is the factor of every column."""
    if len(shards) > 1:
        raise ValueError(
            f"the graph lies in {len(shards)} shards, as it has more than {most_edges:,} edges: its leading vectors, "
            "which low_rank and start='kmeans' want, are found by one process alone"
        )
    (found,) = shards.collect(factor_step, scale=scale, k=k, seed=seed)
    return ThinFactors(**found)


def factor_step(shard: Shard, state: Arrays, scale: np.ndarray, k: int, seed: int) -> dict:
    """Step: the thin factors of all edges."""
    edges = sp.csr_matrix(shard.data @ sp.diags(scale))
    d, e = (np.asarray(edges.sum(axis=axis)).ravel() for axis in (1, 0))
    rows, columns = d > 0, e > 0
    left, right = np.sqrt(d[rows])[:, None], np.sqrt(e[columns])[:, None]
    normalised = sp.csr_matrix(sp.diags(1 / left[:, 0]) @ edges[rows][:, columns] @ sp.diags(1 / right[:, 0]))
    norm = float((normalised.data**2).sum())
    found = golub_kahan(normalised, k, squared_norm=norm, tol=_TOL, seed=seed, max_steps=max(_STEPS, 2 * k))
    P, S = (np.zeros((n, found.sigma.size)) for n in edges.shape)
    P[rows], S[columns] = left * found.u, right * found.v
    return {"left": P, "sigma": found.sigma, "right": S, "degrees": d, "captured": min(found.captured, 1.0)}


def second_pair(
    left: np.ndarray, sigma: np.ndarray, right: np.ndarray, d: np.ndarray, e: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Gives the second singular value of D_d^-½ (P Σ Sᵀ) D_e^-½ and the coordinates D_d^-½ u and D_e^-½ v.

    The rows of P and S and the degrees d and e are those of one cluster, of two documents and two columns at least.
    """
    (Q1, R1), (Q2, R2) = (np.linalg.qr(f / np.sqrt(degrees)[:, None]) for f, degrees in ((left, d), (right, e)))
    U, values, V = np.linalg.svd((R1 * sigma) @ R2.T)
    return float(values[1]), Q1 @ U[:, 1] / np.sqrt(d), Q2 @ V[1] / np.sqrt(e)
