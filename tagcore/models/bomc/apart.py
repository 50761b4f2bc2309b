"""Tags that come later: where tags are independent, each can be learnt from all documents by itself.

A tag that starts from the prior is half believed of every document until enough without it were learnt.
"""

from typing import TYPE_CHECKING, Any

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


def relearn_tags(model: "BOMC", X: Any, y: Any, first: int) -> None:
    """Fits the tags of y by themselves, which are those of the model from number `first` on, and takes them over."""
    if not learns_tags_apart(model):
        raise ValueError("only independent tags without parents, drift and given ratios can be learnt apart")
    own = clone(model).set_params(warm_start=False).fit(X, y)
    if (own.n_features_in_, first + own.n_labels_) != (model.n_features_in_, model.n_labels_):
        found = f"{own.n_features_in_} words and {own.n_labels_} tags"
        raise ValueError(f"{found}, expected {model.n_features_in_} and {model.n_labels_ - first}")
    for name in _OF_TAGS:
        getattr(model, name)[..., first:] = getattr(own, name)
