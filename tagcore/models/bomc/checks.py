"""Refusals of BOMC: settings out of range, stored arrays that do not fit together."""

from typing import TYPE_CHECKING

import numpy as np

from tagcore.base import require_vector
from tagcore.models.bomc.stream import VARIANTS

if TYPE_CHECKING:
    from tagcore.models.bomc.estimator import BOMC


def check_parameters(model: "BOMC", tags: int) -> None:
    """Raises ValueError that names a setting out of range for this many tags."""
    if model.variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {model.variant!r}")
    if model.dtype not in ("float32", "float64"):
        raise ValueError(f'dtype must be "float32" or "float64", got {model.dtype!r}')
    for name in ("prior_var", "noise", "margin", "tol", "max_sweeps", "_bias_var"):
        if not 0 < getattr(model, name) < np.inf:
            raise ValueError(f"{name.strip('_')} must be positive, got {getattr(model, name)!r}")
    if not 0 <= min(model._flips) <= max(model._flips) < 0.5:
        raise ValueError(f"flip must be at least 0 and below 0.5, got {model.flip!r}")
    for name, most in (("damping", 1.0), ("drift", np.inf), ("bias_drift", np.inf)):
        if not 0 <= getattr(model, name) < most:
            raise ValueError(f"{name} must be at least 0 and below {most}, got {getattr(model, name)!r}")
    if isinstance(model.skew, str) and model.skew not in ("counted", "running"):
        raise ValueError(f'skew must be "counted", "running", a ratio for each tag, or None, got {model.skew!r}')
    if model.skew is not None and not isinstance(model.skew, str):
        ratios = np.asarray(model.skew, np.float64)
        if ratios.shape != (tags,) or not ((ratios > 0) & (ratios < np.inf)).all():
            raise ValueError(f"skew must hold a positive ratio for each of {tags} tags")
    if model.parallel not in (None, "classes"):
        raise ValueError(f'parallel must be None or "classes", got {model.parallel!r}')
    if model.parallel and (model.variant != "coupled" or model.parents is not None):
        raise ValueError("parallel is for the coupled variant without a hierarchy")
    if model.parallel and model.bias_drift:  # added once at a merge, the hub still moves too much within a block
        raise ValueError(
            f"bias_drift={model.bias_drift!r} moves the hub with every document, but parallel={model.parallel!r} "
            "brings it together only after many: drop one of the two"
        )
    for name in ("n_shards", "merge_every"):
        if getattr(model, name) is not None and getattr(model, name) < 1:
            raise ValueError(f"{name} must be at least 1, got {getattr(model, name)!r}")
    if model.variant == "multi-class" and model.parents is not None:
        raise ValueError("a multi-class model has no hierarchy: drop parents, or take the coupled variant")


def check_state(model: "BOMC") -> None:
    """Raises ValueError where loaded arrays do not fit together."""
    shape = model.n_features_in_, model.n_labels_
    for name in ("mean_", "variance_"):
        values = getattr(model, name)
        if values.shape != shape:
            raise ValueError(f"{name} has shape {values.shape}, expected {shape}")
        require_vector(values.ravel(), values.size, name)
    if not (model.variance_ > 0).all():
        raise ValueError("variance_ must be positive")
    check_parameters(model, model.n_labels_)
    for name in ("bias_mean_", "bias_variance_"):
        require_vector(getattr(model, name), model._n_biases(model.n_labels_), name)
    if not (model.bias_variance_ > 0).all():
        raise ValueError("bias_variance_ must be positive")
    for name in ("positives_", "exposures_"):
        _require_counts(getattr(model, name), model.n_labels_, model.n_seen_, name)
    _require_counts(model.last_seen_, model.n_features_in_ if model.drift else 0, model.n_seen_, "last_seen_")


def _require_counts(values: np.ndarray, size: int, most: int, what: str) -> None:
    if values.shape != (size,) or values.dtype != np.int64 or (size and not 0 <= values.min() <= values.max() <= most):
        raise ValueError(f"{what} must be {size} whole numbers from 0 to {most}")
