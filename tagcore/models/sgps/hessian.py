"""The curvature H = -∇∇Ψ at the mode, factorised: whole (`exact`), or its diagonal blocks alone, one a class (`block`).

H_cd = δ_cd I + a_c a_d Φᵀ diag(π_c (δ_cd - π_d)) Φ. Two evidences of different kinds are not to be compared.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from tagcore.models.sgps.features import FeatureRows, FeatureShards
from tagcore.models.sgps.softmax import probabilities
from tagcore.shards import Arrays, Shard, contiguous

MOST_EXACT = 4000  # rows of a whole H: 128 MB, and as much for its factor
_GRAM_CELLS = 2**24  # of Gram matrices that are summed together


@dataclass(frozen=True, eq=False)
class Curvature:
    """Lower Cholesky factors of H: (1, C M, C M) of all of it, or (C, M, M) of its blocks."""

    factors: np.ndarray
    kind: str

    @property
    def log_determinant(self) -> float:
        return 2.0 * float(np.log(np.diagonal(self.factors, axis1=1, axis2=2)).sum())

    def inverses(self) -> np.ndarray:
        """Gives H⁻¹ in the shape of the factors."""
        return np.stack([cho_solve((L, True), np.eye(len(L)), check_finite=False) for L in self.factors])

    def covariances(self, features: np.ndarray, amplitudes: np.ndarray) -> np.ndarray:
        """Gives Cov(f) of rows that unsure prototypes cause: (n, C) of blocks, (n, C, C) of the whole."""
        if self.kind == "block":
            solved = (solve_triangular(L, features.T, lower=True, check_finite=False) for L in self.factors)
            return np.stack([np.einsum("mn,mn->n", S, S) for S in solved], axis=1) * amplitudes**2
        C, (n, M) = amplitudes.size, features.shape
        out, step = np.empty((n, C, C)), max(1, _GRAM_CELLS // (C * C * M))
        for first in range(0, n, step):
            rows = features[first : first + step]
            right = np.zeros((C, M, C, len(rows)))  # what each class's latent is made of: its own prototypes alone
            for c in range(C):
                right[c, :, c] = rows.T * amplitudes[c]
            solved = solve_triangular(self.factors[0], right.reshape(C * M, -1), lower=True, check_finite=False)
            solved = solved.reshape(C * M, C, len(rows))
            out[first : first + step] = np.einsum("kcn,kdn->ncd", solved, solved, optimize=True)
        return out


def apply_inverses(inverses: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Gives H⁻¹ V, V (M × C), by the inverses of the blocks of H or of the whole."""
    return (inverses @ V.T.reshape(len(inverses), -1, 1)).reshape(V.T.shape).T


def factorise(features: FeatureShards, amplitudes: np.ndarray, kind: str) -> Curvature:
    """Gives the factors of H at the latents that the shards hold."""
    M, C = features.basis.size, amplitudes.size
    if kind == "exact":
        if C * M > MOST_EXACT:
            raise ValueError(
                f'evidence="exact" takes up to {MOST_EXACT} latents, got {C} classes × {M} prototypes: '
                'take evidence="block"'
            )
        pairs = np.array([(c, d) for c in range(C) for d in range(c + 1)])
    else:
        pairs = np.repeat(np.arange(C)[:, None], 2, axis=1)
    width = max(1, _GRAM_CELLS // M**2)
    factors = np.empty((C, M, M)) if kind == "block" else np.zeros((C, M, C, M))
    for first in range(0, len(pairs), width):
        some = pairs[first : first + width]
        grams = features.shards.sum(grams_step, pairs=some)["grams"]
        for (c, d), gram in zip(some, grams, strict=True):
            H = amplitudes[c] * amplitudes[d] * gram + (c == d) * np.eye(M)
            if kind == "block":
                factors[c] = cholesky(H, lower=True, check_finite=False)
            else:
                factors[c, :, d] = H
    if kind == "exact":
        factors = cholesky(factors.reshape(1, C * M, C * M)[0], lower=True, check_finite=False)[None]
    return Curvature(contiguous({"factors": factors})["factors"], kind)


def grams_step(shard: Shard[FeatureRows], state: Arrays, pairs: np.ndarray) -> Arrays:
    """Step: Φᵀ diag(π_c (δ_cd - π_d)) Φ of pairs of classes."""
    P = probabilities(state["F"])
    grams = np.zeros((len(pairs), shard.data.basis.size, shard.data.basis.size))
    for rows, block in shard.data.whitened_blocks():
        for gram, (c, d) in zip(grams, pairs, strict=True):
            weights = P[rows, c] * ((c == d) - P[rows, d])
            if c == d:
                weighted = block * np.sqrt(np.maximum(weights, 0.0))[:, None]
                gram += weighted.T @ weighted
            else:
                gram += block.T @ (block * weights[:, None])
    return {"grams": grams}
