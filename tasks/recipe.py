"""A recipe names data, split, features, models, seeds and measures: everything that decides a result.

`nightly` is a recipe plus promotion; `experiment` is a recipe over a grid. Recipes are TOML; the ones we ship are in
`flows/presets`.
"""

import itertools
from collections.abc import Collection, Iterator
from typing import Any

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from tagcore.corpus import DOCUMENT_FIELDS
from tagcore.metrics.catalogue import find, primary_names
from tagcore.readers.web.urls import without_logins
from tasks.data_settings import DataSettings
from tasks.feature_settings import FeatureSettings
from tasks.nights.warm_settings import WarmSettings
from tasks.recipe_part import RecipePart
from tasks.recipe_settings import (
    ChoiceSettings,
    MeasureSettings,
    ModelSettings,
    PromotionSettings,
    RivalSettings,
    SplitSettings,
    TuningSettings,
    require_k,
    require_values,
)
from tasks.search.space import SearchRange, Space
from tasks.setting_names import settings_beside

_USUAL: dict[str, dict[str, Any]] = {  # measures of kinds of data other than documents
    "ratings": {"primary": "MAE", "ks": [5, 10, 20]},
    "classes": {"primary": "error %"},
}
ROW_SETTINGS = ("split.kind", "split.test", "split.train_documents", "split.test_documents")  # rows are as documents


class RecipeError(ValueError):
    """A recipe that cannot be followed; the message names the file, the setting and what was expected."""


class Recipe(RecipePart):
    """All that decides a result."""

    name: str = Field("recipe", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    about: str = ""
    seeds: list[int] = Field([0], min_length=1)
    data: DataSettings = DataSettings()
    split: SplitSettings = SplitSettings()
    features: FeatureSettings = FeatureSettings()
    chosen_features: list[str] = Field([], description="features that a person set: these beat a data card's")
    models: list[ModelSettings] = Field(min_length=1)
    rivals: list[RivalSettings] = Field([], description="other people's taggers, for `tagflow experiment` on documents")
    measures: MeasureSettings = MeasureSettings()
    published: dict[str, dict[str, float]] = Field(
        default_factory=dict, description="figures of a paper, by model and measure, to be drawn beside ours"
    )
    published_on: dict[str, dict[str, dict[str, float]]] = Field(
        default_factory=dict, description="the same by data set: told below the table of that set"
    )
    promotion: PromotionSettings = PromotionSettings()
    warm: WarmSettings = WarmSettings()
    choice: ChoiceSettings | None = None
    tuning: TuningSettings | None = None
    search: dict[str, dict[str, SearchRange | list[Any]]] = Field(
        default_factory=dict, description="what [tuning] may choose, by class of model; see tasks/search/space.py"
    )
    grid: dict[str, list[Any]] = Field(default_factory=dict, description='settings such as "features.stem" to vary')

    @model_validator(mode="before")
    @classmethod
    def _usual_measures_of_the_kind(cls, plain: Any) -> Any:
        """Ranks models of ratings by MAE, and looks at 5, 10 and 20 items, and classifiers by their error, where the
        recipe does not say otherwise."""
        usual = _USUAL.get(_plain_group(plain, "data").get("kind", "")) if isinstance(plain, dict) else None
        if usual is None or not isinstance(plain.get("measures", {}), dict | BaseModel):
            return plain  # what is no group of settings is told as such
        return plain | {"measures": usual | _plain_group(plain, "measures")}

    @model_validator(mode="after")
    def _fits_what_is_learnt_from(self) -> "Recipe":
        """Refuses settings that only make sense for the other kind of data."""
        kind = self.data.kind
        names = primary_names(self.measures.ks, kind)
        if self.measures.primary not in names:
            raise ValueError(f"measures.primary = {self.measures.primary!r}: of {kind}, expected {', '.join(names)}")
        searched = [] if self.tuning is None or self.tuning.measure is None else [self.tuning.measure]
        for name in searched:
            require_k(name, self.measures.ks)
        for name in (*self.measures.columns, *searched):
            if not find(name)[0].is_of(kind):
                where = "tuning.measure" if name in searched else "measures.columns"
                raise ValueError(f"{where} has {name!r}, which is no measure of {kind}")
        for name in self._set_for_ratings() if kind != "ratings" else ():
            raise ValueError(f"{name}: as it is set, it is for ratings alone, and data.kind is {kind!r}")
        allowed = ROW_SETTINGS if kind == "classes" else ()
        for name in self._set_for_documents() if kind != "documents" else ():
            if name not in allowed:
                raise ValueError(f"{name}: as it is set, it is for documents alone, and data.kind is {kind!r}")
        return self

    @model_validator(mode="after")
    def _features_go_together(self) -> "Recipe":
        """Refuses features that no vectoriser takes, before any work."""
        own: dict[str, dict[str, Any]] = {"features": {}}
        own |= {f"models.{number}.features": model.features for number, model in enumerate(self.models)}
        for where, changes in own.items():
            try:
                self.features.on_top_of(**changes).require_sound()
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
        return self

    @model_validator(mode="after")
    def _search_is_of_models_that_are_tuned(self) -> "Recipe":
        """Refuses what a search would never look at."""
        classes = [model.model for model in self.models]
        for name in self.search:
            if name not in classes:
                raise ValueError(f"search.{name}: there is no such model in the recipe, only {', '.join(classes)}")
            if self.tuning is None or self.tuning.sampler == "grid":
                raise ValueError(f'search.{name}: expected [tuning] with sampler = "tpe" or "random" beside it')
            if empty := [setting for setting, values in self.search[name].items() if values == []]:
                raise ValueError(f"search.{name}.{empty[0]}: no values to choose from")
        return self

    def space_of(self, model: ModelSettings) -> Space:
        """What a search may choose for the model: the values of its grid, and what the recipe's search has for it."""
        return {**model.grid, **self.search.get(model.model, {})}

    def _set_for_ratings(self) -> list[str]:
        """Names the settings that say something of ratings alone."""
        split, data = self.split, self.data
        settings = {
            "split.kind": split.kind == "newest" and data.kind != "documents",
            "split.train": split.train != 1,
            "split.train_seed": split.train_seed != 0,
            "split.cold_users": split.cold_users != 0,
            "split.resample": split.resample,
            "data.pruning": data.pruning is not None,
            "data.profiles": data.profiles != "given",
        }
        return [name for name, is_set in settings.items() if is_set]

    def _set_for_documents(self) -> list[str]:
        """Names the settings that say something of documents and their tags alone."""
        split = self.split
        settings = {
            "split.kind": split.kind == "official",
            "split.test": isinstance(split.test, int),
            "split.train_documents": split.train_documents is not None,
            "split.test_documents": split.test_documents is not None,
            "split.revealed": split.revealed != 1,
            "split.min_tag_df": split.min_tag_df != 1,
            "split.after": split.after is not None or split.until is not None,
            "features": self.features != FeatureSettings(),
            "measures.labelling": bool(self.measures.labelling),
            "rivals": bool(self.rivals),
        }
        for number, model in enumerate(self.models):
            calibrate = model.calibrate not in (None, "isotonic")  # the default says nothing of what was asked for
            of_model = {"features": model.features, "calibrate": calibrate, "thresholds": model.thresholds}
            of_model["most_cells"] = model.most_cells
            settings |= {f"models.{number}.{name}": bool(value) for name, value in of_model.items()}
        return [name for name, is_set in settings.items() if is_set]

    @field_validator("published")
    @classmethod
    def _of_known_measures(cls, published: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        for figures in published.values():
            for name in figures:
                find(name)
        return published

    @field_validator("seeds")
    @classmethod
    def _different(cls, seeds: list[int]) -> list[int]:
        return list(dict.fromkeys(seeds))

    @field_validator("models")
    @classmethod
    def _told_apart(cls, models: list[ModelSettings]) -> list[ModelSettings]:
        labels = [model.label for spec in models for model in spec.expand()]
        if twice := [label for label in labels if labels.count(label) > 1]:
            raise ValueError(f"two models are called {twice[0]!r}, expected different classes or parameters")
        return models

    @field_validator("grid")
    @classmethod
    def _of_a_group(cls, grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
        for path in grid:
            if not path.startswith(("data.", "split.", "features.")):
                raise ValueError(f"{path!r} cannot be varied, expected settings of data, split or features")
        require_values(grid)
        return grid

    def expand(self) -> Iterator["Recipe"]:
        """One recipe for every point of the grid; models expand within each."""
        for values in itertools.product(*self.grid.values()):
            plain = self.model_dump() | {"grid": {}}
            for path, value in zip(self.grid, values, strict=True):
                set_value(plain, path, value)
            varied = [path.removeprefix("features.") for path in self.grid if path.startswith("features.")]
            plain["chosen_features"] = [*self.chosen_features, *varied]
            yield parse_recipe(plain, f"{self.name}: grid {dict(zip(self.grid, values, strict=True))}")

    def require_no_grid(self, work: str = "a night is of one data set, split and features") -> None:
        """Refuses a grid where it would be of no effect; `work` tells why."""
        if self.grid:
            varied = ", ".join(self.grid)
            raise RecipeError(f"{self.name}: {work}, and [grid] varies {varied}; `tagflow experiment` takes grids")

    def features_with(self, suggested: dict[str, Any]) -> FeatureSettings:
        """Takes a data card's suggestions, except where a person or the grid has set the feature."""
        return self.features.on_top_of(**{k: v for k, v in suggested.items() if k not in self.chosen_features})

    @property
    def data_to_read(self) -> DataSettings:
        """The data, read with the further fields that features name, unless its options say which."""
        fields = {name for model in self.models for name in (model.features.get("fields") or ())}
        further = sorted((fields | set(self.features.fields or ())) - set(DOCUMENT_FIELDS))
        if not further or self.data.planted or "fields" in self.data.options:
            return self.data
        return self.data.model_copy(update={"options": {**self.data.options, "fields": further}})

    @property
    def searches_each_split(self) -> bool:
        """Whether a search on validation documents is made for every split anew."""
        return (self.tuning is not None or self.choice is not None) and self.split.redraw

    def all_models(self) -> list[ModelSettings]:
        """Lists the models of all grids."""
        return [model for spec in self.models for model in spec.expand()]


def parse_recipe(plain: dict[str, Any], where: str, asked: Collection[str] = ()) -> Recipe:
    """Checks plain settings; RecipeError names `where` they stand, the setting and what was expected.

    Those of `asked` do not stand there: a person has just typed them.
    """
    try:
        return Recipe.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        if not first["loc"]:  # settings that do not go together: the message names them
            raise RecipeError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from error
        parts = [str(part) for part in first["loc"]]
        setting = ".".join(part for part in parts if not part.startswith("function-"))  # pydantic's name of a check
        if first["type"] == "extra_forbidden":
            there = settings_beside(Recipe, first["loc"])
            raise RecipeError(f"{where}: there is no setting {setting}{there and f'; {there}'}") from error
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        place = "" if any(f"{setting}.".startswith(f"{name}.") for name in asked) else f"{where}: "
        given, wrong = without_logins(repr(first["input"])), first["msg"].removeprefix("Value error, ")
        raise RecipeError(f"{place}{setting} = {given}: {wrong}{more}") from None


def _plain_group(plain: dict[str, Any], name: str) -> dict[str, Any]:
    """A group of settings as plain values, empty where there is no such group."""
    group = plain.get(name, {})
    group = group.model_dump(exclude_unset=True) if isinstance(group, BaseModel) else group
    return group if isinstance(group, dict) else {}


def set_value(plain: dict[str, Any], path: str, value: Any) -> None:
    """Sets the value at a dotted path such as split.seed."""
    *parents, last = path.split(".")
    for parent in parents:
        plain = plain.setdefault(parent, {})
        if not isinstance(plain, dict):
            raise RecipeError(f"{path}: {parent!r} is not a group of settings")
    plain[last] = value
