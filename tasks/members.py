"""The members of a recipe's blend, changed as the other models of the recipe are."""

from collections.abc import Container
from typing import Any

from tagcore.models.blend.members import DEFAULT_MEMBERS, class_of, with_parameter
from tasks.recipe_settings import ModelSettings


def with_member_parameter(model: ModelSettings, name: str, parameter: str, value: Any) -> ModelSettings:
    """A blend whose members of that class have the parameter, where they do not say their own."""
    return _asking(model, [with_parameter(member, name, parameter, value) for member in _members(model)])


def without_members(model: ModelSettings, names: Container[str]) -> ModelSettings:
    """A blend that asks no model of these classes, unless it asks no other; any other model stays as it is."""
    if model.model != "Blend":
        return model
    return _asking(model, [member for member in _members(model) if class_of(member) not in names])


def _members(model: ModelSettings) -> list[Any]:
    return list(model.params.get("members") or DEFAULT_MEMBERS)


def _asking(model: ModelSettings, members: list[Any]) -> ModelSettings:
    """The blend with these members, called as before: they are told elsewhere."""
    if not members or members == _members(model) or "members" in model.grid:
        return model
    return model.model_copy(update={"params": model.params | {"members": members}, "called": model.label})
