"""The M-step of BMLPL: K linear systems (X' Ω_k X + diag(τ)) w_k = d_k, by conjugate gradients or by Cholesky.

Both start from the present weights and their residual d_k - (X' Ω_k X + diag(τ)) w_k.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tagcore.models.bmlpl.kernels.em import column_dots
from tagcore.models.bmlpl.kernels.exact import add_grams
from tagcore.models.bmlpl.rows import ShardRows, current_rows
from tagcore.numeric.conjugate_gradients import Product, conjugate_gradients, residuals_were_below
from tagcore.shards import Arrays, Shard, Shards

MOST_EXACT_WORDS = 2048  # matrices of words × words: 32 MiB each, one a shard at a time
_GRAM_CELLS = 2**22


def solve_iteratively(
    product: Product, residual: np.ndarray, diagonal: np.ndarray, steps: int, enough: float = 0.0
) -> tuple[np.ndarray, int]:
    """Gives (what to add to the solution, steps taken) by conjugate gradients, each topic a system of its own.

    The steps end when r' diag⁻¹ r of the residual r was at most `enough` in every topic.
    """
    return conjugate_gradients(product, residual, diagonal, steps, column_dots, residuals_were_below(enough))


def solve_exactly(shards: Shards, residual: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Gives what to add to the solution, by Cholesky; a few topics' Gram matrices exist at a time."""
    solution = np.empty_like(residual)
    for topics, grams in gram_blocks(shards, *residual.shape):
        solution[:, topics] = solve_topics(shards, grams, residual[:, topics], tau)
    return solution


def gram_blocks(shards: Shards, n_words: int, n_topics: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Yields the lower triangles of X' Ω_k X (words × words × topics), a few topics at a time."""
    width = max(1, _GRAM_CELLS // n_words**2)
    for first in range(0, n_topics, width):
        topics = slice(first, min(first + width, n_topics))
        yield topics, shards.sum(gram_step, topics=topics, n_words=n_words)["grams"]


def solve_topics(shards: Shards, grams: np.ndarray, residual: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Solves by one Cholesky factorisation a topic, spread over the executor; only lower triangles are read."""
    topics = Shards(range(residual.shape[1]), _itself, shards.executor)
    return np.stack(topics.collect(cholesky_step, grams=grams, residual=residual, tau=tau), axis=1)


def gram_step(shard: Shard[ShardRows], state: Arrays, topics: slice, n_words: int) -> Arrays:
    """Step: X' Ω_k X of a few topics, float64, the lower triangles."""
    omega = np.ascontiguousarray(state["omega"][:, topics])
    grams = np.zeros((n_words, n_words, omega.shape[1]))
    add_grams(*current_rows(shard, state).words, omega, grams)
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
