"""The models' parameters in a recipe, looked at before anything is read or trained."""

from typing import Any

from tagcore.base import Estimator
from tagcore.fitting import make_model
from tasks.blend_members import FEATURES
from tasks.recipe import Recipe
from tasks.recipe_settings import ModelChoice


def require_parameters(recipe: Recipe) -> None:
    """Raises ValueError for a model that there is not, or that does not have these parameters or values."""
    for model in recipe.all_models():
        _require(model)
        if model.threshold_model is not None:
            _require(model.threshold_model)


def _require(model: ModelChoice) -> None:
    params = model.params
    if isinstance(members := params.get("members"), list | tuple):
        params = params | {"members": [_without_features(member) for member in members]}
    estimator = make_model(model.model, params, 0, Estimator)
    try:
        estimator._check_params()
    except ValueError as error:
        raise ValueError(f"{type(estimator).__name__}: {error}") from error


def _without_features(member: Any) -> Any:
    """A blend's member as its class knows it: features of its own become columns when they are built."""
    return {name: value for name, value in member.items() if name != FEATURES} if isinstance(member, dict) else member
