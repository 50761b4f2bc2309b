"""The M-step of BMLPL: K linear systems (X' Ω_k X + diag(τ)) w_k = d_k, by conjugate gradients or by Cholesky.

Both start from the present weights and their residual d_k - (X' Ω_k X + diag(τ)) w_k.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tagcore.models.bmlpl.kernels.em import column_dots
from tagcore.models.bmlpl.kernels.exact import add_grams
from tagcore.models.bmlpl.rows import ShardRows, at_work
from tagcore.shards import Arrays, Shard, Shards

MOST_EXACT_WORDS = 2048  # matrices of words × words: 32 MiB each, one a shard at a time
_GRAM_CELLS = 2**22


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    residual: np.ndarray,
    diagonal: np.ndarray,
    steps: int,
    enough: float = 0.0,
) -> tuple[np.ndarray, int]:
    """(What to add to the solution, steps taken): from zero, with Jacobi's preconditioner, each column on its own.

    Ends after `steps` steps, or when r' diag⁻¹ r of the residual r was at most `enough` in every column: it is close to
    the energy e' S e of the error e, whatever the scale of the words, and that never grows. Inner products are float64.
    A column whose residual is zero stays as it is.
    """
    dtype = residual.dtype
    solution, R = np.zeros_like(residual), residual
    P, rz = R, np.zeros(residual.shape[1])
    solved = np.zeros(residual.shape[1], bool)
    for step in range(steps):
        Z = R / diagonal
        before, rz = rz, column_dots(R, Z)
        solved |= rz <= enough
        if solved.all():
            return solution, step
        P = Z + _quotient(rz, before).astype(dtype) * P
        Q = product(P)
        alpha = _quotient(rz, column_dots(P, Q)).astype(dtype)
        solution += alpha * P
        R = R - alpha * Q
    return solution, steps


def exact(shards: Shards, residual: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """What to add to the solution; a few topics' Gram matrices exist at a time."""
    solution = np.empty_like(residual)
    for topics, grams in grams_of(shards, *residual.shape):
        solution[:, topics] = solve_topics(shards, grams, residual[:, topics], tau)
    return solution


def grams_of(shards: Shards, n_words: int, n_topics: int) -> Iterator[tuple[slice, np.ndarray]]:
    """The lower triangles of X' Ω_k X (words × words × topics), a few topics at a time."""
    width = max(1, _GRAM_CELLS // n_words**2)
    for first in range(0, n_topics, width):
        topics = slice(first, min(first + width, n_topics))
        yield topics, shards.sum(gram_step, topics=topics, n_words=n_words)["grams"]


def solve_topics(shards: Shards, grams: np.ndarray, residual: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """One Cholesky factorisation a topic, spread over the executor; only lower triangles are read."""
    topics = Shards(range(residual.shape[1]), _itself, shards.executor)
    return np.stack(topics.collect(cholesky_step, grams=grams, residual=residual, tau=tau), axis=1)


def gram_step(shard: Shard[ShardRows], state: Arrays, topics: slice, n_words: int) -> Arrays:
    """Step: X' Ω_k X of a few topics, float64, the lower triangles."""
    omega = np.ascontiguousarray(state["omega"][:, topics])
    grams = np.zeros((n_words, n_words, omega.shape[1]))
    add_grams(*at_work(shard, state).words, omega, grams)
    return {"grams": grams}


def cholesky_step(
    shard: Shard[int], state: Arrays, grams: np.ndarray, residual: np.ndarray, tau: np.ndarray
) -> np.ndarray:
    """Step: the solution of one topic."""
    matrix = grams[:, :, shard.data] + np.diag(tau)
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve(factor, residual[:, shard.data].astype(np.float64), check_finite=False)


def _itself(part: int) -> int:
    return part


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
