"""Refusals of BOMC: settings out of range, stored arrays that do not fit together."""

from typing import TYPE_CHECKING

import numpy as np

from tagcore.base import require_array
from tagcore.models.bomc.hierarchy import Siblings
from tagcore.models.bomc.stream import VARIANTS
from tagcore.parameters import (
    FLAG,
    MOST_BYTES,
    POSITIVE,
    ROUNDS,
    SEED,
    SIZE,
    Choice,
    Numbers,
    Real,
    Whole,
    limits,
)

if TYPE_CHECKING:
    from tagcore.models.bomc.estimator import BOMC


LIMITS = limits(
    variant=Choice(*VARIANTS),
    prior_var=POSITIVE,
    bias_var=Real(above=0, none=True),
    noise=POSITIVE,
    margin=POSITIVE,
    skew=Numbers(Choice("counted", "running", None)),
    flip=Numbers(Real()),
    drift=Real(),
    bias_drift=Real(),
    parents=Numbers(Choice(None)),
    tol=POSITIVE,
    max_sweeps=ROUNDS,
    damping=Real(),
    noise_in_predict=FLAG,
    n_samples=ROUNDS,
    n_thresholds=ROUNDS,
    threshold_grid=Choice("uniform", "quantile"),
    normalise=FLAG,
    shuffle=FLAG,
    dtype=Choice("float32", "float64"),
    warm_start=FLAG,
    parallel=Choice(None, "classes"),
    n_shards=Whole(none=True),
    merge_every=Whole(none=True),
    warm_up=Whole(0),
    max_weights=SIZE,
    random_state=SEED,
)


def check_parameters(model: "BOMC", tags: int) -> None:
    """Raises ValueError that names a setting out of range for this many tags."""
    model._check_params()
    if not 0 <= min(model._flips) <= max(model._flips) < 0.5:
        raise ValueError(f"flip must be at least 0 and below 0.5, got {model.flip!r}")
    for name, most in (("damping", 1.0), ("drift", np.inf), ("bias_drift", np.inf)):
        if not 0 <= getattr(model, name) < most:
            raise ValueError(f"{name} must be at least 0 and below {most}, got {getattr(model, name)!r}")
    if model.skew is not None and not isinstance(model.skew, str):
        ratios = np.asarray(model.skew, np.float64)
        if ratios.shape != (tags,) or not ((ratios > 0) & (ratios < np.inf)).all():
            raise ValueError(f"skew must hold a positive ratio for each of {tags} tags")
    if model.parallel and (model.variant != "coupled" or model.parents is not None):
        raise ValueError("parallel is for the coupled variant without a hierarchy")
    if model.parallel and model.bias_drift:  # added once at a merge, the hub still moves too much within a block
        raise ValueError(
            f"bias_drift={model.bias_drift!r} moves the hub with every document, but parallel={model.parallel!r} "
            "brings it together only after many: drop one of the two"
        )
    if model.variant == "multi-class" and model.parents is not None:
        raise ValueError("a multi-class model has no hierarchy: drop parents, or take the coupled variant")


def check_state(model: "BOMC") -> None:
    """Raises ValueError where loaded arrays do not fit together."""
    Whole(0, MOST_BYTES).check("n_seen_", model.n_seen_)
    shape, dtype = (model.n_features_in_, model.n_labels_), model.mean_.dtype
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"mean_ is {dtype}, expected float32 or float64")
    for name in ("mean_", "variance_"):
        require_array(getattr(model, name), shape, dtype, name)
    if not model.variance_.min() > 0:
        raise ValueError("variance_ must be positive")
    check_parameters(model, model.n_labels_)
    Siblings(model.parents, model.n_labels_)
    for name in ("bias_mean_", "bias_variance_"):
        require_array(getattr(model, name), (model._n_biases(model.n_labels_),), np.float64, name)
    if not (model.bias_variance_ > 0).all():
        raise ValueError("bias_variance_ must be positive")
    for name in ("positives_", "exposures_"):
        _require_counts(getattr(model, name), model.n_labels_, model.n_seen_, name)
    _require_counts(model.last_seen_, model.n_features_in_ if model.drift else 0, model.n_seen_, "last_seen_")


def _require_counts(values: np.ndarray, size: int, most: int, what: str) -> None:
    if values.shape != (size,) or values.dtype != np.int64 or (size and not 0 <= values.min() <= values.max() <= most):
        raise ValueError(f"{what} must be {size} whole numbers from 0 to {most}")
