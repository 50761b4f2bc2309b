"""Softmax likelihood of latent values, row by row."""

import numpy as np


def log_likelihoods(F: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Gives log p(y | f) of every row."""
    largest = F.max(axis=1, keepdims=True)
    return F[np.arange(y.size), y] - largest[:, 0] - np.log(np.exp(F - largest).sum(axis=1))


def probabilities(F: np.ndarray) -> np.ndarray:
    """Gives softmax of every row."""
    P = np.exp(F - F.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    return P


def likelihood_and_residuals(F: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Gives log p(y | f) of all rows together, in float64, and Y - softmax(F), from one pass of exponentials."""
    largest, numbers = F.max(axis=1, keepdims=True), np.arange(y.size)
    R = np.exp(F - largest)
    sums = R.sum(axis=1, keepdims=True)
    likelihood = (F[numbers, y] - largest[:, 0] - np.log(sums[:, 0])).sum(dtype=np.float64)
    R /= -sums
    R[numbers, y] += 1.0
    return float(likelihood), R


def residuals(P: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Gives Y - P, Y having a one in the column of each row's class."""
    R = -P
    R[np.arange(y.size), y] += 1.0
    return R


def curve(P: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Gives W t of every row, W = diag(p) - p pᵀ the curvature of its likelihood; T is written over."""
    T -= np.einsum("nc,nc->n", P, T)[:, None]
    T *= P
    return T
