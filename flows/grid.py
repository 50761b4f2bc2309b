"""Which settings a recipe's grid varies, and what is drawn against the one that is a number."""

from functools import reduce
from operator import getitem
from typing import Any

from tasks.naming import data_name
from tasks.recipe import Recipe
from tasks.recipe_settings import ModelSettings


def grid_labels(recipe: Recipe, variant: Recipe, *groups: str, without: str | None = None) -> list[str]:
    """The settings of these groups that a grid point chose, as parts of a label; a source has its own name."""
    paths = [path for path in recipe.grid if path.split(".")[0] in groups and path not in ("data.source", without)]
    return [f"{path.partition('.')[2]}={_value(variant, path)}" for path in paths]


def point_label(recipe: Recipe, variant: Recipe) -> str:
    """What a grid point chose, as its steps are told: the data set and the settings of data, split and features."""
    source = [data_name(variant.data)] if "data.source" in recipe.grid else []
    return " ".join([*source, *grid_labels(recipe, variant, "data", "split", "features")])


def curve_setting(recipe: Recipe) -> str | None:
    """The one setting or model parameter that is a number and varies: what curves are drawn against.

    A tuned recipe measures one point of each model's grid, so its parameters do not vary.
    """
    varied = [path for path, values in recipe.grid.items() if path != "split.seed" and _numbers(values)]
    if recipe.tuning is None:
        grids = [(name, values) for model in recipe.models for name, values in model.grid.items()]
        varied += [name for name, values in grids if _numbers(values)]
    return varied[0] if len(set(varied)) == 1 else None


def models_in_tables(recipe: Recipe) -> list[ModelSettings]:
    """The models as tables name them: where every split has a search of its own, without the values that it chose."""
    if recipe.tuning is None or not recipe.searches_each_split:
        return recipe.all_models()
    return [
        model.at(dict.fromkeys(recipe.space_of(model), "tuned")).model_copy(update={"called": model.called})
        for model in recipe.models
    ]


def lines_of_models(recipe: Recipe, variant: Recipe) -> dict[str, tuple[str, float]]:
    """label -> (its line, the value of the setting) for every model of one grid point; what else varies tells lines
    apart. Models that do not have the parameter are on no line."""
    setting = curve_setting(recipe)
    if setting is None:
        return {}
    lines = {}
    others = grid_labels(recipe, variant, "data", "split", "features", without=setting)
    settled = grid_labels(recipe, variant, "features")
    for model in models_in_tables(variant):
        label = " ".join([model.label, *settled])
        if setting in recipe.grid:
            lines[label] = (" ".join([model.label, *others]), float(_value(variant, setting)))
        elif setting in model.params:
            rest = {name: value for name, value in model.params.items() if name != setting}
            called = model.called.replace(f" {setting}={model.params[setting]}", "")
            line = model.model_copy(update={"params": rest, "called": called}).label
            lines[label] = (" ".join([line, *others]), float(model.params[setting]))
    return lines


def _value(recipe: Recipe, path: str) -> Any:
    return reduce(getitem, path.split("."), recipe.model_dump())


def _numbers(values: list[Any]) -> bool:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return numbers and len(set(values)) > 1
