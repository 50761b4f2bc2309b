"""The Laplace approximation of a Gaussian process with softmax likelihood (Rasmussen and Williams, 2006, section 3.5).

Latent values f (n × C) have the prior N(0, K) in every class. At the mode a = K⁻¹f = Y - Π. With D_c = diag(π_c),
(K + W⁻¹)⁻¹ has the blocks δ_cd E_c - E_c S⁻¹ E_d, where E_c = (K + D_c⁻¹)⁻¹ and S = Σ_c E_c.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import logsumexp, softmax

_NEWTON_STEPS = 100
_SHORTEST = 1e-8
_CELLS = 8_000_000  # numbers that are held together for new rows


class Curvature(NamedTuple):
    """E_c of every class (C × n × n), the Cholesky factor of their sum, and log |I + KW|."""

    E: np.ndarray
    factor: np.ndarray
    log_det: float


class Mode(NamedTuple):
    """The mode: a and Π, both n × C, its curvature, and the logarithm of the evidence."""

    a: np.ndarray
    proba: np.ndarray
    at: Curvature
    log_evidence: float


def curvature(K: np.ndarray, proba: np.ndarray) -> Curvature:
    """The parts of (K + W⁻¹)⁻¹ where class probabilities are these."""
    n, n_classes = proba.shape
    E = np.empty((n_classes, n, n))
    log_det = 0.0
    for c in range(n_classes):
        roots = np.sqrt(proba[:, c])
        B = roots[:, None] * K * roots
        B.flat[:: n + 1] += 1.0
        lower, wrong = dpotrf(B, lower=1)
        if wrong:
            raise LinAlgError(f"I + D½ K D½ of class {c} is not positive definite")
        log_det += 2.0 * np.log(np.diag(lower)).sum()
        inverse = np.tril(dpotri(lower, lower=1)[0])
        inverse += np.tril(inverse, -1).T
        E[c] = roots[:, None] * inverse * roots
    factor = cho_factor(E.sum(axis=0), lower=True)[0]
    return Curvature(E, factor, log_det + 2.0 * np.log(np.diag(factor)).sum())


def find_mode(K: np.ndarray, Y: np.ndarray, a: np.ndarray | None = None, tol: float = 1e-6) -> Mode:
    """Newton's iterations, from `a` or from 0, until the gain of a step is below `tol`; a step that would go down is
    halved."""
    a = np.zeros(Y.shape) if a is None else a
    f = K @ a
    height = _height(a, f, Y)
    for _ in range(_NEWTON_STEPS):
        proba = softmax(f, axis=1)
        step = _newton(K, curvature(K, proba), proba, f, Y) - a
        length, gained = 1.0, -np.inf
        while length > _SHORTEST:
            a_new = a + length * step
            f_new = K @ a_new
            gained = _height(a_new, f_new, Y) - height
            if gained >= 0:
                break
            length /= 2
        if gained < 0:
            break
        a, f, height = a_new, f_new, height + gained
        if gained < tol:
            break
    proba = softmax(f, axis=1)
    at = curvature(K, proba)
    return Mode(a, proba, at, height - 0.5 * at.log_det)


def evidence_weights(K: np.ndarray, Y: np.ndarray, mode: Mode) -> np.ndarray:
    """The slope of the log evidence by every cell of K, K staying symmetric: ⟨weights, ∂K⟩ is its change."""
    E, factor, _ = mode.at
    residual = Y - mode.proba
    EK = E @ K
    P = np.stack([solve_triangular(factor, of_class, lower=True) for of_class in EK])
    explained = np.einsum("cij,ij->jc", EK, K)  # k E_c k of every row
    variance = np.diag(K)[:, None] - explained + np.einsum("cij,cij->jc", P, P)
    mixed = np.einsum("jc,cij->ij", mode.proba, P)
    mean_covariance = mode.proba * (np.diag(K)[:, None] - explained) + np.einsum("cij,ij->jc", P, mixed)
    turned = variance - 2.0 * mean_covariance  # the slope of -½ log |I + KW| by f, before the derivative of softmax
    slope = -0.5 * mode.proba * (turned - (mode.proba * turned).sum(axis=1, keepdims=True))
    shift = slope - _apply(E, factor, K @ slope)  # the mode moves with K
    weights = 0.5 * mode.a @ mode.a.T
    for c in range(E.shape[0]):
        half = solve_triangular(factor, E[c], lower=True)
        weights -= 0.5 * (E[c] - half.T @ half)
    moved = shift @ residual.T
    return weights + 0.5 * (moved + moved.T)


def contrast_variances(at: Curvature, cross: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Variances (m × C) of new rows' latent values minus their mean over the classes, which softmax does not see;
    `cross` (n × m) is the covariance with the training rows."""
    E, factor, _ = at
    variances = np.empty((cross.shape[1], E.shape[0]))
    step = max(1, _CELLS // (E.shape[0] * E.shape[1]))
    for start in range(0, cross.shape[1], step):
        rows = slice(start, start + step)
        k = cross[:, rows]
        b = E @ k
        half = np.stack([solve_triangular(factor, of_class, lower=True) for of_class in b])
        own = diagonal[rows] - np.einsum("cij,ij->cj", b, k)  # a class's variance given the sum over classes
        mean = half.mean(axis=0)
        own_part = own * (1.0 - 2.0 / len(E)) + own.sum(axis=0) / len(E) ** 2
        variances[rows] = (own_part + ((half - mean) ** 2).sum(axis=1)).T
    return np.maximum(variances, 0.0)


def _newton(K: np.ndarray, at: Curvature, proba: np.ndarray, f: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """a after a whole step of Newton's method."""
    b = proba * (f - (proba * f).sum(axis=1, keepdims=True)) + Y - proba
    return b - _apply(at.E, at.factor, K @ b)


def _apply(E: np.ndarray, factor: np.ndarray, V: np.ndarray) -> np.ndarray:
    """(K + W⁻¹)⁻¹ V, V n × C."""
    c = np.einsum("cij,jc->ic", E, V, optimize=True)
    return c - np.einsum("cij,j->ic", E, cho_solve((factor, True), c.sum(axis=1)), optimize=True)


def _height(a: np.ndarray, f: np.ndarray, Y: np.ndarray) -> float:
    """The logarithm of the posterior, up to what does not depend on f."""
    return float((Y * f).sum() - logsumexp(f, axis=1).sum() - 0.5 * (a * f).sum())
