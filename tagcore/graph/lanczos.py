"""The leading singular triplets of a graph: Golub-Kahan bidiagonalisation, written out, and one pair fast.

Without full re-orthogonalisation ghost copies of σ₁ = 1 appear and are taken for the second vector: every new vector
is made orthogonal to all earlier ones, twice.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh_tridiagonal
from scipy.sparse.linalg import LinearOperator, aslinearoperator

_TINY = 1e-14  # a norm below it ends an invariant subspace
_EVERY = 5  # steps between looks at the small matrix


@dataclass(frozen=True, eq=False)
class Triplets:
    """Singular values, largest first, with their left and right vectors as columns."""

    sigma: np.ndarray
    u: np.ndarray
    v: np.ndarray
    captured: float  # Σσ² as a share of the squared norm of the matrix


def golub_kahan(
    matrix: sp.csr_matrix | LinearOperator,
    k: int,
    *,
    squared_norm: float,
    tol: float = 1e-10,
    share: float = 1.0,
    seed: int = 0,
    max_steps: int = 300,
) -> Triplets:
    """Finds the k largest triplets, or fewer where they capture `share` of the squared norm before."""
    operator = aslinearoperator(matrix)
    m, n = operator.shape
    if m < n:  # begin on the shorter side: as many steps then span all of it
        turned = operator.T
        found = golub_kahan(turned, k, squared_norm=squared_norm, tol=tol, share=share, seed=seed, max_steps=max_steps)
        return Triplets(found.sigma, found.v, found.u, found.captured)
    most = min(n, max_steps)
    k = min(k, most)
    rng = np.random.default_rng(seed)
    U, V = np.zeros((m, most)), np.zeros((n, most))
    alpha, beta = np.zeros(most), np.zeros(most)
    v = _unit(rng.standard_normal(n), V[:, :0])
    for j in range(most):
        V[:, j] = v
        u = operator.matvec(v) - (beta[j - 1] * U[:, j - 1] if j else 0.0)
        u = _orthogonal(u, U[:, :j])
        alpha[j] = np.linalg.norm(u)
        U[:, j] = u / alpha[j] if alpha[j] > _TINY else _unit(rng.standard_normal(m), U[:, :j])
        w = _orthogonal(operator.rmatvec(U[:, j]) - alpha[j] * v, V[:, : j + 1])
        beta[j] = np.linalg.norm(w)
        last = j + 1 == most
        if last or j % _EVERY == _EVERY - 1 or beta[j] < _TINY:
            P, sigma, Q = np.linalg.svd(_bidiagonal(alpha[: j + 1], beta[:j]))
            converged = beta[j] * np.abs(P[j]) <= tol * sigma[0]
            leading = int(np.argmin(converged)) if not converged.all() else j + 1
            captured = np.cumsum(sigma**2) / squared_norm
            enough = int(np.searchsorted(captured[:leading], share)) + 1
            wanted = min(k, enough) if share < 1 else k
            if leading >= wanted or last:
                wanted = min(wanted, j + 1)
                left, right = U[:, : j + 1] @ P[:, :wanted], V[:, : j + 1] @ Q[:wanted].T
                return Triplets(sigma[:wanted], left, right, float(captured[wanted - 1]))
        if beta[j] < _TINY:  # an invariant subspace: go on with a direction that is new
            beta[j] = 0.0
            v = _unit(rng.standard_normal(n), V[:, : j + 1])
        else:
            v = w / beta[j]
    raise AssertionError("the last step returns")


def leading_pair(
    multiply: Callable[[np.ndarray], np.ndarray],
    known: np.ndarray,
    *,
    tol: float = 1e-8,
    seed: int = 0,
    max_steps: int = 300,
) -> tuple[float, np.ndarray]:
    """Finds the largest eigenpair, orthogonal to the unit vector `known`, of the symmetric matrix that `multiply`
    stands for: Lanczos, one product a step, every vector made orthogonal to all earlier ones.

    The residual is at most `tol` times the value, but where the steps run out.
    """
    most = min(known.size - 1, max_steps)
    basis = np.zeros((most + 1, known.size))
    basis[0] = known
    alpha, beta = np.zeros(most), np.zeros(most)
    v = _unit(np.random.default_rng(seed).standard_normal(known.size), basis[:1].T)
    for j in range(most):
        basis[j + 1] = v
        w = multiply(v)
        alpha[j] = v @ w
        w = _orthogonal(w, basis[: j + 2].T)
        beta[j] = np.linalg.norm(w)
        ended = j + 1 == most or beta[j] < _TINY
        if ended or j % _EVERY == _EVERY - 1:
            (value,), vectors = eigh_tridiagonal(alpha[: j + 1], beta[:j], select="i", select_range=(j, j))
            if ended or beta[j] * abs(vectors[-1, 0]) <= tol * abs(value):
                return float(value), vectors[:, 0] @ basis[1 : j + 2]
        v = w / beta[j]
    raise AssertionError("the last step returns")


def _bidiagonal(diagonal: np.ndarray, above: np.ndarray) -> np.ndarray:
    return np.diag(diagonal) + np.diag(above, 1)


def _orthogonal(x: np.ndarray, basis: np.ndarray) -> np.ndarray:
    for _ in range(2):
        x = x - basis @ (basis.T @ x)
    return x


def _unit(x: np.ndarray, basis: np.ndarray) -> np.ndarray:
    x = _orthogonal(x, basis)
    norm = np.linalg.norm(x)
    return x / norm if norm > 0 else x
