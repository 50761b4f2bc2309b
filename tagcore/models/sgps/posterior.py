"""The fitted Gaussian process: latents of any row with their uncertainty, and class probabilities from them."""

from dataclasses import dataclass

import numpy as np

from tagcore.models.sgps.basis import Basis
from tagcore.models.sgps.hessian import Curvature
from tagcore.models.sgps.softmax import probabilities
from tagcore.numeric.dots import Matrix

METHODS = ("mean", "mackay", "sample")
_BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Draws:
    """Standard normal numbers that the seed and a row's key decide, whichever rows are asked with it."""

    seed: int
    keys: np.ndarray  # of every row one, from 0
    count: int = 1000

    def of_row(self, row: int, n_classes: int) -> np.ndarray:
        """Gives (count, C) numbers."""
        key = np.array([self.seed, self.keys[row]], np.uint64)
        return np.random.Generator(np.random.Philox(key=key)).standard_normal((self.count, n_classes))


@dataclass(frozen=True, eq=False)
class Posterior:
    """Basis, amplitudes of the classes, weights L⁻ᵀ U ∘ a of the mode U, and the curvature there (None: not known)."""

    basis: Basis
    amplitudes: np.ndarray
    weights: np.ndarray  # (M, C)
    curvature: Curvature | None

    def means(self, X: Matrix) -> np.ndarray:
        """Gives the latent mean of every class, (n, C); no feature is whitened for it."""
        blocks = [self.basis.covariances(block) @ self.weights for block in self._blocks(X)]
        return np.concatenate(blocks) if blocks else np.empty((0, self.amplitudes.size))

    def variances(self, X: Matrix) -> np.ndarray:
        """Gives the latent variance of every class, (n, C)."""
        covariances = self._covariances(X)
        return covariances if covariances.ndim == 2 else np.diagonal(covariances, axis1=1, axis2=2).copy()

    def probabilities(self, X: Matrix, method: str, draws: Draws | None = None) -> np.ndarray:
        """Gives class probabilities, (n, C): softmax of the means (`mean`), of means shrunk by their variance
        (`mackay`), or averaged over draws (`sample`, which alone needs them).
        """
        means = self.means(X)
        if method == "mean":
            return probabilities(means)
        if method == "mackay":
            return probabilities(means / np.sqrt(1.0 + np.pi / 8.0 * self.variances(X)))
        assert draws is not None
        covariances = self._covariances(X)
        out = np.empty(means.shape)
        for i, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
            normals = draws.of_row(i, mean.size)
            spread = np.sqrt(covariance) if covariance.ndim == 1 else _root(covariance)
            F = mean + (normals * spread if covariance.ndim == 1 else normals @ spread.T)
            out[i] = probabilities(F).mean(axis=0)
        return out

    def _covariances(self, X: Matrix) -> np.ndarray:
        """(n, C) variances, or (n, C, C) where all of H is known."""
        if self.curvature is None:
            raise ValueError('there is no variance without evidence: fit with evidence="block" or "exact"')
        squares, blocks = self.amplitudes**2, []
        for block in self._blocks(X):
            features = self.basis.features(block)
            left = self.basis.residual_variances(block, features)
            covariances = self.curvature.covariances(features, self.amplitudes)
            if covariances.ndim == 2:
                covariances = covariances + left[:, None] * squares
            else:
                diagonal = np.arange(squares.size)
                covariances[:, diagonal, diagonal] += left[:, None] * squares
            blocks.append(covariances)
        return np.concatenate(blocks) if blocks else np.empty((0, squares.size))

    def _blocks(self, X: Matrix) -> list[Matrix]:
        step = max(1, _BLOCK_CELLS // self.basis.size)
        if 0 < X.shape[0] <= step:  # to slice one row takes as long as to compare it with all prototypes
            return [X]
        return [X[i : i + step] for i in range(0, X.shape[0], step)]


def _root(covariance: np.ndarray) -> np.ndarray:
    """A square root of a covariance that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))
