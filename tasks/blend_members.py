"""The members of a recipe's blend, changed as the other models of the recipe are, and the features that they read."""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from tagcore.models.blend.members import COLUMNS, DEFAULT_MEMBERS, class_of, with_parameter
from tasks.feature_settings import OF_TEXTS, FeatureSettings
from tasks.recipe_settings import ModelSettings

FEATURES = "features"  # of a member in a recipe: on top of the blend's own


def with_member_parameter(model: ModelSettings, name: str, parameter: str, value: Any) -> ModelSettings:
    """A blend whose members of that class have the parameter, where they do not say their own."""
    return _asking(model, [with_parameter(member, name, parameter, value) for member in _members(model)])


def without_members(model: ModelSettings, names: Container[str]) -> ModelSettings:
    """A blend that asks no model of these classes, unless it asks no other; any other model stays as it is."""
    return _asking_some(model, lambda member: class_of(member) not in names)


def classes_of_members(model: ModelSettings) -> list[str]:
    """The classes of a blend's members that read its own features, each once; none of any other model."""
    members = _members(model) if model.model == "Blend" else []
    return list(dict.fromkeys(class_of(member) for member in members if not features_of(member)))


def without_features_of_texts(model: ModelSettings) -> ModelSettings:
    """The model as it reads words that were counted elsewhere: without features of its own, or of a blend's members,
    that are made of texts. Members that are the same then are one."""
    if _of_texts(model.features):
        model = model.model_copy(update={"features": {}})
    if model.model != "Blend":
        return model
    members = [_plain(member) if _of_texts(features_of(member)) else member for member in _members(model)]
    return _asking(model, [member for i, member in enumerate(members) if member not in members[:i]])


def without_large_views(model: ModelSettings, cells: Mapping[str, int], most_cells: Mapping[str, int]) -> ModelSettings:
    """A blend without the members of whose own features there are more words × tags (by `view_name`) than their class
    takes."""

    def fits(member: Any) -> bool:
        return cells[view_name(features_of(member))] <= most_cells.get(class_of(member), float("inf"))

    return _asking_some(model, fits)


def views_of(model: ModelSettings) -> list[dict[str, Any]]:
    """The features that the members of a blend read, each once, on top of the model's own, which come first."""
    views: list[dict[str, Any]] = [{}]
    for member in _members(model) if model.model == "Blend" else ():
        if features_of(member) not in views:
            views.append(features_of(member))
    return views


def with_columns(model: ModelSettings, views: Sequence[Mapping[str, Any]], edges: Sequence[int]) -> ModelSettings:
    """A blend whose members read the columns of their view, which begin and end at `edges`, instead of features."""

    def reading(member: Any) -> Any:
        number = list(views).index(features_of(member))
        plain = {"model": member} if isinstance(member, str) else member
        known = {name: value for name, value in plain.items() if name != FEATURES}
        return known | {COLUMNS: [edges[number], edges[number + 1]]}

    return _asking(model, [reading(member) for member in _members(model)])


def features_of(member: Any) -> dict[str, Any]:
    """What a member in a recipe reads, on top of the blend's features; ValueError where that is nothing known."""
    features = {} if isinstance(member, str) else member.get(FEATURES, {})
    FeatureSettings.model_validate(features)
    return features


def view_name(features: Mapping[str, Any]) -> str:
    """One name for the features of a view."""
    return repr(sorted(features.items()))


def _of_texts(features: Mapping[str, Any]) -> bool:
    return any(name in OF_TEXTS for name in features)


def _plain(member: Mapping[str, Any]) -> Any:
    """A member without features of its own; its class name where that is all that is said of it."""
    known = {name: value for name, value in member.items() if name != FEATURES}
    return known if len(known) > 1 else known["model"]


def _members(model: ModelSettings) -> list[Any]:
    return list(model.params.get("members") or DEFAULT_MEMBERS)


def _asking_some(model: ModelSettings, wanted: Callable[[Any], bool]) -> ModelSettings:
    if model.model != "Blend":
        return model
    return _asking(model, [member for member in _members(model) if wanted(member)])


def _asking(model: ModelSettings, members: list[Any]) -> ModelSettings:
    """The blend with these members, called as before: they are told elsewhere."""
    if not members or members == _members(model) or "members" in model.grid:
        return model
    return model.model_copy(update={"params": model.params | {"members": members}, "called": model.label})
