"""Imports of the processes that tests fork, done once: what a library or a model does at its first use is done here."""

import numba

from tagcore.base import registered_models


def load_models() -> None:
    """Imports every model, and readies numba: its first kernel registers all that kernels may call."""
    registered_models()
    numba.njit(lambda number: number + 1)(1)
