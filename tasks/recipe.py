"""A recipe names data, split, features, models, seeds and measures: everything that decides a result.

`nightly` is a recipe plus promotion; `experiment` is a recipe over a grid. Recipes are TOML; the ones we ship are in
`flows/presets`.
"""

import itertools
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tagcore.labelling.rules import rule_named, rule_names
from tagcore.metrics.catalogue import find, primary_names, rule_of
from tagcore.metrics.measure import SUGGESTED, LearnsFrom
from tagcore.text.tokens import TOKEN_PATTERN
from tasks.setting_names import settings_beside

CROSS_VALIDATED = "cross-validated"

Rule = Annotated[
    str, AfterValidator(lambda name: rule_named(name).name), Field(json_schema_extra={"enum": list(rule_names())})
]


class RecipeError(ValueError):
    """A recipe that cannot be followed; the message names the file, the setting and what was expected."""


class RecipePart(BaseModel):
    """A group of settings; unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DataSettings(RecipePart):
    """What is learnt from, and its source: `demo`, or the path of a file or folder that a reader recognises."""

    kind: LearnsFrom = Field("documents", description="tags of documents, or ratings that users gave to items")
    source: str = "demo"
    name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$",
        description="what reports and registered models call it",
    )
    documents: int = Field(4000, ge=10, description="how many documents the demo makes")
    users: int = Field(1500, ge=10, description="how many users rate in the demo of ratings")
    items: int = Field(400, ge=10, description="how many items are rated in the demo of ratings")
    options: dict[str, Any] = Field(default_factory=dict, description="what the reader of that format takes")
    skip_bad_rows: bool = False


class SplitSettings(RecipePart):
    """`auto` takes the source's own split where it has one, and draws by document id elsewhere.

    Ratings are drawn by user and item; of these `newest` holds out the latest share of every user's.
    """

    kind: Literal["auto", "official", "drawn", "newest"] = "auto"
    test: float | int = Field(0.2, description="a share of the documents or ratings, or so many documents")
    seed: int = 0
    redraw: bool = Field(False, description="another split for every seed of the recipe; of a drawn one")
    validation: float = Field(0.0, ge=0, lt=1, description="measure on this share of the training documents instead")
    train_documents: int | None = Field(None, ge=1, description="learn from so many documents only")
    test_documents: int | None = Field(None, ge=1, description="measure on so many documents only")
    revealed: float = Field(1.0, gt=0, le=1, description="learn from this share of the labels; hide the others")
    min_tag_df: int = Field(1, ge=1, description="leave out tags on fewer documents to learn from")

    @field_validator("test")
    @classmethod
    def _share_or_number(cls, test: float | int) -> float | int:
        if not (test >= 1 if isinstance(test, int) else 0 < test < 1):
            raise ValueError("expected a share between 0 and 1, or a whole number of documents")
        return test

    @field_validator("redraw")
    @classmethod
    def _drawn(cls, redraw: bool, known: ValidationInfo) -> bool:
        if redraw and known.data.get("kind") != "drawn":
            raise ValueError('only a drawn split can be drawn again, expected kind = "drawn" beside it')
        return redraw


class FeatureSettings(RecipePart):
    """The vectoriser's settings, named as scikit-learn's TfidfVectorizer names them."""

    strip_accents: Literal["ascii", "unicode"] | None = None
    lowercase: bool = True
    analyzer: Literal["word", "char", "char_wb"] = "word"
    token_pattern: str = TOKEN_PATTERN
    ngram_range: tuple[int, int] = Field((1, 1), description="shortest and longest n-gram, such as [1, 2]")
    stop_words: Literal["english"] | list[str] | None = None
    stem: str | None = Field(None, description="a Snowball language, such as english")
    vocabulary: list[str] | None = Field(None, description="the terms to know, instead of those of the documents")
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    sublinear_tf: bool = False
    use_idf: bool = True
    smooth_idf: bool = True
    binary: bool = False
    norm: Literal["l1", "l2"] | None = "l2"

    def on_top_of(self, **changes: Any) -> "FeatureSettings":
        """Checks and applies changes to some of the settings."""
        return FeatureSettings.model_validate(self.model_dump() | changes)


class ModelChoice(RecipePart):
    """One model of the house by class name, and its parameters."""

    model: str
    params: dict[str, Any] = Field(default_factory=dict)


class ModelSettings(ModelChoice):
    """A model of the recipe: a choice, a grid of further parameters, features of its own, and how it labels."""

    grid: dict[str, list[Any]] = Field(default_factory=dict)
    features: dict[str, Any] = Field(default_factory=dict, description="on top of the recipe's, for this model alone")
    calibrate: Annotated[
        Literal["isotonic", "platt"] | None, BeforeValidator(lambda given: None if given == "none" else given)
    ] = Field("isotonic", description='how scores become probabilities of being right; "none" leaves them as they are')
    called: str = Field("", description="its name in tables, instead of its class and parameters")
    thresholds: str | None = Field(
        None, description='"cross-validated": the tags\' thresholds of best F1; or a class name: those of that model'
    )

    @field_validator("features")
    @classmethod
    def _known_features(cls, features: dict[str, Any]) -> dict[str, Any]:
        FeatureSettings.model_validate(features)
        return features

    @property
    def label(self) -> str:
        """The model's name in tables: its class and whatever tells it from others of that class."""
        if self.called:
            return self.called
        chosen = sorted(self.params.items()) + ([("thresholds", self.thresholds)] if self.thresholds else [])
        chosen += [(f"features.{name}", value) for name, value in sorted(self.features.items())]
        return self.model + "".join(f" {name}={value}" for name, value in chosen)

    @property
    def threshold_model(self) -> ModelChoice | None:
        """The model whose cross-validated thresholds this one labels by."""
        if self.thresholds is None:
            return None
        if self.thresholds == CROSS_VALIDATED:
            return ModelChoice(model=self.model, params=self.params)
        return ModelChoice(model=self.thresholds)

    def expand(self) -> Iterator["ModelSettings"]:
        """Gives one model for every point of the grid."""
        for values in itertools.product(*self.grid.values()):
            point = dict(zip(self.grid, values, strict=True))
            called = self.called and self.called + "".join(f" {name}={value}" for name, value in point.items())
            yield self.model_copy(update={"params": {**self.params, **point}, "grid": {}, "called": called})


class MeasureSettings(RecipePart):
    """Of rankings, at each of `ks`; and of the labels that each rule of `labelling` gives."""

    ks: list[int] = [1, 3, 5, 10]
    primary: str = Field("nDCG@5", validate_default=True, description="what is best; MAE where ratings are learnt from")
    labelling: list[Rule] = []
    columns: list[str] = Field([], description="what tables show instead of the usual measures, such as exact@3")
    timed: int = Field(0, ge=0, description="so many documents are tagged one by one and timed")

    @field_validator("ks")
    @classmethod
    def _positive(cls, ks: list[int]) -> list[int]:
        if not ks or min(ks) < 1:
            raise ValueError("expected one or more numbers of tags, each at least 1")
        return sorted(set(ks))

    @field_validator("primary")
    @classmethod
    def _measured(cls, primary: str, known: ValidationInfo) -> str:
        if "ks" in known.data:
            names = [name for kind in get_args(LearnsFrom) for name in primary_names(known.data["ks"], kind)]
            if primary not in names:
                raise ValueError(f"expected one of {', '.join(names)}")
        return primary

    @field_validator("columns")
    @classmethod
    def _known(cls, columns: list[str], known: ValidationInfo) -> list[str]:
        for name in columns:
            k = find(name)[1]
            if k is not None and k not in (*known.data.get("ks", ()), SUGGESTED):
                raise ValueError(f"{name!r} is not measured, expected a k of ks")
        return columns


class TuningSettings(RecipePart):
    """Every model's grid is searched on validation documents; only its best point is measured on the test."""

    validation: float = Field(0.2, gt=0, lt=1, description="share of the training documents")
    measure: str | None = Field(None, description='such as "macro-F1 (class-mass)"; none is the primary one')

    @property
    def rule(self) -> str | None:
        """The labelling rule that the measure is of."""
        return rule_of(self.measure or "")


class PromotionSettings(RecipePart):
    """A challenger is promoted when the paired interval of its gain on what was held out lies above `margin`."""

    level: float = Field(0.95, gt=0.5, lt=1)
    margin: float = Field(0.0, ge=0)


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
    measures: MeasureSettings = MeasureSettings()
    published: dict[str, dict[str, float]] = Field(
        default_factory=dict, description="figures of a paper, by model and measure, to be drawn beside ours"
    )
    promotion: PromotionSettings = PromotionSettings()
    tuning: TuningSettings | None = None
    grid: dict[str, list[Any]] = Field(default_factory=dict, description='settings such as "features.stem" to vary')

    @model_validator(mode="before")
    @classmethod
    def _primary_measure_of_ratings(cls, plain: Any) -> Any:
        """Ranks models of ratings by MAE where the recipe does not say by what."""
        if not isinstance(plain, dict) or _plain_group(plain, "data").get("kind") != "ratings":
            return plain
        if not isinstance(plain.get("measures", {}), dict | BaseModel):
            return plain  # no group of settings: told as such
        return plain | {"measures": {"primary": "MAE"} | _plain_group(plain, "measures")}

    @model_validator(mode="after")
    def _fits_what_is_learnt_from(self) -> "Recipe":
        """Refuses settings that only make sense for the other kind of data."""
        kind = self.data.kind
        names = primary_names(self.measures.ks, kind)
        if self.measures.primary not in names:
            raise ValueError(f"measures.primary = {self.measures.primary!r}: of {kind}, expected {', '.join(names)}")
        refused = self._set_for_documents() if kind == "ratings" else self._set_for_ratings()
        if refused:
            other = "ratings" if kind == "documents" else "documents"
            raise ValueError(f"{refused[0]}: as it is set, it is for {other} alone, and data.kind is {kind!r}")
        return self

    def _set_for_ratings(self) -> list[str]:
        """Names the settings that say something of ratings alone."""
        return ["split.kind"] if self.split.kind == "newest" else []

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
            "features": self.features != FeatureSettings(),
            "measures.labelling": bool(self.measures.labelling),
        }
        for number, model in enumerate(self.models):
            calibrate = model.calibrate == "platt"  # the default says nothing of what was asked for
            of_model = {"features": model.features, "calibrate": calibrate, "thresholds": model.thresholds}
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

    def features_with(self, suggested: dict[str, Any]) -> FeatureSettings:
        """Takes a data card's suggestions, except where a person or the grid has set the feature."""
        return self.features.on_top_of(**{k: v for k, v in suggested.items() if k not in self.chosen_features})

    @property
    def searches_each_split(self) -> bool:
        """Whether a search on validation documents is made for every split anew."""
        return self.tuning is not None and self.split.redraw

    def all_models(self) -> list[ModelSettings]:
        """Lists the models of all grids."""
        return [model for spec in self.models for model in spec.expand()]


def parse_recipe(plain: dict[str, Any], where: str) -> Recipe:
    """Checks plain settings; RecipeError names `where` they stand, the setting and what was expected."""
    try:
        return Recipe.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        if not first["loc"]:  # settings that do not go together: the message names them
            raise RecipeError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from error
        setting = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise RecipeError(
                f"{where}: there is no setting {setting}; {settings_beside(Recipe, first['loc'])}"
            ) from error
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise RecipeError(f"{where}: {setting} = {first['input']!r}: {first['msg']}{more}") from error


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
