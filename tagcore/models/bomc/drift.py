"""Variances of a BOMC as the next document would find them: with the drift that is pending."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tagcore.models.bomc.estimator import BOMC


def variance_now(model: "BOMC", words: np.ndarray | slice) -> np.ndarray:
    """Gives the variances of these words' weights, (words, tags), as the kernel's `forget` would leave them."""
    variance = model.variance_[words]
    if not model.drift:
        return variance
    grown = (model.drift * (model.n_seen_ - model.last_seen_[words])).astype(variance.dtype)
    return np.minimum(variance + grown[:, None], variance.dtype.type(model.prior_var))


def bias_variance_now(model: "BOMC") -> np.ndarray:
    """Gives the variances of the biases."""
    if not model.bias_drift:
        return model.bias_variance_
    return np.minimum(model.bias_variance_ + model.bias_drift, model._bias_var)
