"""Recipes by name: the presets that we ship in `flows/presets`, and TOML files of users."""

import tomllib
from pathlib import Path
from typing import Any

from flows.grid import grid_labels, models_in_tables
from tasks.feature_settings import FeatureSettings
from tasks.naming import line_called
from tasks.recipe import Recipe, RecipeError, parse_recipe, set_value

PRESETS = Path(__file__).parent / "presets"
SPACES = Path(__file__).parent / "search_spaces.toml"


def load_recipe(
    name: str, overrides: dict[str, Any] | None = None, usual: dict[str, dict[str, Any]] | None = None
) -> Recipe:
    """Loads a shipped preset by name, or a TOML file by path; overrides are dotted settings, `usual` are groups of
    settings for a recipe that has no such group.

    Features set by the overrides or by a user's file are noted as chosen: they beat what a data card suggests, which in
    turn beats what a preset says for all data.
    """
    path = Path(name)
    shipped = path.suffix != ".toml"
    if shipped:
        path = PRESETS / f"{name}.toml"
        if not path.is_file() or path.parent != PRESETS:
            known = ", ".join(preset_names())
            raise RecipeError(f"no preset {name!r}; there are {known}; or give the path of a .toml file")
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecipeError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecipeError(f"{path}: not readable as TOML ({error})") from error
    plain.setdefault("name", path.stem)
    plain = {**(usual or {}), **plain}
    chosen = _names(plain.get("chosen_features", [] if shipped else plain.get("features")))
    for setting, value in (overrides or {}).items():
        set_value(plain, setting, value)
        chosen += _names(value) if setting == "features" else [setting.removeprefix("features.")]
    plain["chosen_features"] = [name for name in chosen if name in FeatureSettings.model_fields]
    recipe = parse_recipe(plain, str(path), asked=overrides or ())
    _require_model_to_compare_with(recipe, str(path))
    return recipe


def _names(features: Any) -> list[str]:
    """The names that stand in a group of features or in a list; none in what is neither, which is refused later."""
    return list(features) if isinstance(features, dict | list) else []


def recipe_to_tune(recipe: Recipe, models: list[str]) -> Recipe:
    """Gives the recipe with these models alone, if any are named, and with a space to search for every model that has
    none of its own but a usual one; RecipeError where a name or all of these are missing."""
    known = {model.model.lower(): model.model for model in recipe.models}
    if unknown := [name for name in models if name.lower() not in known]:
        raise RecipeError(f"{recipe.name} has no model {unknown[0]!r}, only {', '.join(known.values())}")
    wanted = {known[name.lower()] for name in models} or set(known.values())
    kept = [model for model in recipe.models if model.model in wanted]
    search = {name: space for name, space in recipe.search.items() if name in wanted}
    if recipe.tuning is not None and recipe.tuning.sampler != "grid":
        bare = {model.model for model in kept if not recipe.space_of(model)}
        search |= {name: space for name, space in _usual_spaces().items() if name in bare}
    if not search and not any(model.grid for model in kept):
        raise RecipeError(f"{recipe.name}: nothing to search: no model has a grid, [search.CLASS] or a usual space")
    changes = {"models": [model.model_dump() for model in kept], "search": search}
    return parse_recipe(recipe.model_dump() | changes, recipe.name)


def _require_model_to_compare_with(recipe: Recipe, where: str) -> None:
    """Refuses `measures.against` that no line of a table can be called."""
    against = recipe.measures.against
    if not against:
        return
    names = [name for point in recipe.expand() for name in _lines_of_tables(recipe, point)]
    names += [rival.label for rival in recipe.rivals]
    is_open = recipe.tuning is not None or recipe.choice is not None  # what was found stands behind the name of a model
    found = is_open and any(against.startswith(f"{model.called or model.model} ") for model in recipe.models)
    if not found and line_called(against, names) is None:
        there = ", ".join(dict.fromkeys(names))
        raise RecipeError(f"{where}: measures.against = {against!r}: no model is called so; there are {there}")


def _lines_of_tables(recipe: Recipe, point: Recipe) -> list[str]:
    """What models of a point of the grid are called in its table, with `tuned` for values that are not known yet."""
    models = models_in_tables(point)
    if recipe.tuning is not None and not recipe.searches_each_split:
        models = [model.at(dict.fromkeys(recipe.space_of(model), "tuned")) for model in point.models]
    return [" ".join([model.label, *grid_labels(recipe, point, "features")]) for model in models]


def _usual_spaces() -> dict[str, dict[str, Any]]:
    """What `tagflow tune` chooses from where a recipe does not say, by class of model."""
    return tomllib.loads(SPACES.read_text(encoding="utf-8"))


def preset_names() -> list[str]:
    """Lists the shipped presets."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))
