"""Imports of the processes that tests fork, done once: what a library or a model does at its first use is done here."""

import gc

import numba

from tagcore.base import registered_models


def load_models() -> None:
    """Imports every model, and readies numba: its first kernel registers all that kernels may call.

    What is imported is no garbage: to look for some in it costs a fork up to two seconds, at its end at the latest.
    """
    registered_models()
    numba.njit(lambda number: number + 1)(1)
    gc.freeze()
