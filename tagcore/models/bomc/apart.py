"""Tags that come later: where tags are independent, each can be learnt from all documents by itself.

A tag that starts from the prior is half believed of every document until enough without it were learnt.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from tagcore.scikit import clone

if TYPE_CHECKING:
    from tagcore.models.bomc.estimator import BOMC

_OF_TAGS = ("mean_", "variance_", "bias_mean_", "bias_variance_", "positives_", "exposures_")


def learns_tags_apart(model: "BOMC") -> bool:
    """Whether nothing that a tag learns depends on other tags, on their number or on time."""
    forgets = bool(model.drift or model.bias_drift)
    return (
        model.variant == "independent" and not forgets and model.parents is None and isinstance(model.skew, str | None)
    )


def append_tags(model: "BOMC", X: Any, y: Any) -> None:
    """Fits the tags of y by themselves and puts them behind those of the model."""
    if not learns_tags_apart(model):
        raise ValueError("only independent tags without parents, drift and given ratios can be learnt apart")
    own = clone(model).set_params(warm_start=False).fit(X, y)
    if own.n_features_in_ != model.n_features_in_:
        raise ValueError(f"documents of {own.n_features_in_} words, expected {model.n_features_in_}")
    for name in _OF_TAGS:
        setattr(model, name, np.concatenate([getattr(model, name), getattr(own, name)], axis=-1))
    model.n_labels_ += own.n_labels_
