"""A recipe as TOML that a person can read and the command takes."""

import json
from typing import Any

from tasks.recipe import Recipe


def recipe_toml(recipe: Recipe) -> str:
    """Gives what the recipe says beyond what is usual, as a file that `tagflow run --recipe` takes."""
    plain = recipe.model_dump(mode="json", exclude_defaults=True, exclude={"models"})
    plain |= {"name": recipe.name, "chosen_features": recipe.chosen_features}
    # what is usual of these depends on the kind of data
    plain["measures"] = {"primary": recipe.measures.primary, "ks": recipe.measures.ks} | plain.get("measures", {})
    lines = [f"{name} = {_value(value)}" for name, value in plain.items() if not isinstance(value, dict)]
    for name, group in plain.items():
        if isinstance(group, dict):
            lines += ["", f"[{name}]", *(f"{_key(setting)} = {_value(value)}" for setting, value in group.items())]
    for model in recipe.models:
        settings = {"model": model.model} | model.model_dump(mode="json", exclude_defaults=True)
        if "params" in settings:  # None, which no file can say, is one that the search found as the model has it
            settings["params"] = {name: value for name, value in settings["params"].items() if value is not None}
        lines += ["", "[[models]]", *(f"{name} = {_value(value)}" for name, value in settings.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if value is None:  # of which TOML knows nothing
        return '"none"'
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float):
        return repr(value)  # inf and nan are TOML's words as well
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)
