"""A preconditioner of latents: one curvature by prototypes for all classes, times how much of it each class has.

Classes of many undecided rows curve the posterior hundreds of times as much as rare ones. Those with alike totals
share a factor, so that balanced classes need one, and any number of classes a few.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

_ALIKE = 4.0  # times as much curvature as the least of a group
_MOST_GROUPS = 8

Precondition = Callable[[np.ndarray], np.ndarray]


def class_wise_preconditioner(gram: np.ndarray, totals: np.ndarray, amplitudes: np.ndarray) -> Precondition:
    """Gives r (M × C) ↦ (I + a_c² s_c gram)⁻¹ r_c of every class c, s_c being its total relative to the mean.

    The part of r that would add the same latent to all classes stays as it is: it changes no probability, so that
    nothing but the prior curves it.
    """
    scales = amplitudes**2 * totals / max(float(totals.mean()), np.finfo(float).tiny)
    groups = alike(scales)
    inverses = [_inverse(gram * scales[group].mean()) for group in groups]
    common = 1.0 / amplitudes
    common /= np.linalg.norm(common)

    def precondition(residual: np.ndarray) -> np.ndarray:
        out, of_all = np.empty(residual.shape), np.outer(residual @ common, common)
        for group, inverse in zip(groups, inverses, strict=True):
            out[:, group] = inverse @ (residual - of_all)[:, group]
        out -= np.outer(out @ common, common)
        out += of_all
        return out

    return precondition


def alike(scales: np.ndarray) -> list[np.ndarray]:
    """Gives the numbers of the classes of every group: scales of one are within a factor, from the largest down."""
    most = max(float(scales.max()), np.finfo(float).tiny)
    shares = np.maximum(scales / most, _ALIKE ** (0.5 - _MOST_GROUPS))
    depths = np.floor(-np.log(shares) / np.log(_ALIKE))
    return [np.flatnonzero(depths == depth) for depth in np.unique(depths)]


def _inverse(curvature: np.ndarray) -> np.ndarray:
    factor = cho_factor(curvature + np.eye(len(curvature)), lower=True, check_finite=False)
    return cho_solve(factor, np.eye(len(curvature)), check_finite=False)  # many small solves take longer
