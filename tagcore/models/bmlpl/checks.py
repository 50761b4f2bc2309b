"""Parameters that BMLPL refuses."""

from numbers import Integral
from typing import Any

import numpy as np

_CHOICES = {
    "inference": ("em", "online", "gibbs"),
    "objective": ("mean", "geo"),
    "solver": ("cg", "exact"),
    "missing": ("zeros", "mask"),
    "dtype": ("float32", "float64"),
}
_AT_LEAST_ONE = ("max_iter", "cg_steps", "batch_rows", "inner", "patience", "screen", "n_shards", "n_draws", "thin")
_POSITIVE = ("eta", "r", "intercept_tau", "t0")
_ONLY_EM = {"learn_tau": False, "learn_r": False, "early_stopping": False, "missing": "zeros"}


def check_parameters(model: Any) -> None:
    """Raises ValueError where a parameter, or two together, make no sense."""
    for name, choices in _CHOICES.items():
        if getattr(model, name) not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {getattr(model, name)!r}")
    for name in _AT_LEAST_ONE:
        value = getattr(model, name)
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    for name in _POSITIVE:
        if not 0 < getattr(model, name) < np.inf:
            raise ValueError(f"{name} must be positive, got {getattr(model, name)!r}")
    if model.tau is not None and not 0 < model.tau < np.inf:
        raise ValueError(f"tau must be positive or None, got {model.tau!r}")
    if not 0.5 < model.kappa <= 1:
        raise ValueError(f"kappa must be above 0.5 and at most 1 for averages to settle, got {model.kappa!r}")
    for name in ("validation_fraction", "observed_rate"):
        if not 0 < getattr(model, name) <= 1:
            raise ValueError(f"{name} must be above 0 and at most 1, got {getattr(model, name)!r}")
    if model.burn_in < 0:
        raise ValueError(f"burn_in must be at least 0, got {model.burn_in!r}")
    if model.objective == "mean" and model.learn_r and model.inference == "em":
        raise ValueError('learn_r needs objective="geo": the other grows without bound in r')
    if model.objective == "geo" and model.missing == "mask":
        raise ValueError('missing="mask" needs objective="mean"')
    for name, only in _ONLY_EM.items():
        chain = model.inference == "gibbs" and name.startswith("learn")
        if model.inference != "em" and not chain and getattr(model, name) != only:
            raise ValueError(f'{name}={getattr(model, name)!r} needs inference="em", got {model.inference!r}')
