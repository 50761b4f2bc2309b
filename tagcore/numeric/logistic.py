"""The logistic curve and its inverse; scipy.special has them, too, but costs a served model a while to import."""

import numpy as np


def expit(z: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-z)), in the type of z; never falls as z rises."""
    with np.errstate(over="ignore"):  # exp(-z) = inf gives the 0 that is meant
        return 1 / (1 + np.exp(-z))


def logit(p: float) -> float:
    """log(p / (1 - p)): the z of which `expit` gives p; infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return float(np.log(p) - np.log1p(-p))
