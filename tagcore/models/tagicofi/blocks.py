"""The best vectors of a few rows while all others stay as they are: new users, new items, those who rated anew."""

import numpy as np
import scipy.sparse as sp

from tagcore.models.tagicofi.sides import csr_rows
from tagcore.models.tagicofi.solve_kernel import factor_rows, solve_factored
from tagcore.numeric.read_only import freeze


def best_block(
    values: sp.csr_matrix,
    weights: np.ndarray | None,
    links: sp.csr_matrix,
    others: np.ndarray,
    rows: np.ndarray,
    base: np.ndarray,
    ridge: float,
    pull: float,
) -> np.ndarray:
    """Vectors of asked rows from their values for `others` and their links to `rows`, each at the minimum of its own.

    `values` (asked × others) has the targets and `weights` what squares weigh; `links` is asked × rows.
    """
    degrees = links @ np.ones(links.shape[1])
    n, width = values.shape[0], others.shape[1]
    factors, rights, solved = np.empty((n, width * (width + 1) // 2)), np.empty((n, width)), np.empty((n, width))
    weighed = freeze(np.empty(0) if weights is None else weights)
    ridges = freeze(ridge + pull * degrees)
    factor_rows(freeze(csr_rows(values)), weighed, freeze(others), freeze(base), ridges, factors, rights)
    rights += pull * (links @ rows)
    solve_factored(freeze(factors), freeze(rights), solved)
    return solved


def dense_base(others: np.ndarray, dense: bool) -> np.ndarray:
    """What every system has in common: Σ y yᵀ of all others where what is not rated counts, else nothing."""
    return np.einsum("nc,nd->cd", others, others) if dense else np.zeros((others.shape[1],) * 2)
