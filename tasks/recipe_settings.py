"""The groups of a recipe's settings: split, models, measures, tuning and promotion; of data: tasks/data_settings.py."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from tagcore.labelling.rules import rule_named, rule_names
from tagcore.metrics.catalogue import find, primary_names, rule_of
from tagcore.metrics.measure import LearnsFrom
from tasks.feature_settings import FeatureSettings
from tasks.recipe_part import RecipePart
from tasks.search.space import grid_points

CROSS_VALIDATED = "cross-validated"
OWN_FEATURE = "features."  # before a setting of a search that is no parameter of the model

Rule = Annotated[
    str, AfterValidator(lambda name: rule_named(name).name), Field(json_schema_extra={"enum": list(rule_names())})
]


def require_values(grid: Mapping[str, list[Any]]) -> None:
    """Refuses a setting without values to vary: of a grid with one there are no points, and nothing would be done."""
    if empty := [name for name, values in grid.items() if not values]:
        raise ValueError(f"{empty[0]} has no values, expected one or more")


def require_k(measure: str, ks: Sequence[int]) -> None:
    """Refuses a name that no measure has, and a k at which nothing is measured."""
    found, k = find(measure)
    if k not in found.ks(ks):
        raise ValueError(f"{measure!r} is not measured, expected a k of ks")


class SplitSettings(RecipePart):
    """`auto` takes the source's own split where it has one, and draws by document id elsewhere.

    `newest` holds out the share of the documents that were tagged last, and a drawn share of what comes later: what
    `auto` means for nights where all have a time. Ratings are drawn by user and item; of these `newest` holds out the
    latest share of every user's, which is what `auto` means where all have a time.
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
    train: float = Field(
        1.0, gt=0, le=1, description="of ratings: learn from this share of those that are not held out"
    )
    train_seed: int = Field(0, description="of ratings: which share is learnt from, and who is a cold user")
    cold_users: int = Field(0, ge=0, description="of ratings: so many users have none of theirs learnt from")
    after: datetime | None = Field(None, description="of the newest documents: those held out came after this time")
    until: datetime | None = Field(None, description="and until this one; the first night sets both")
    exceptions: tuple[str, ...] = Field((), description="ids that stay on the side on which an earlier night had them")
    resample: bool = Field(False, description="of ratings: another train_seed for every seed; the test stays")

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


class ModelChoice(RecipePart):
    """One model of the house by class name, and its parameters."""

    model: str
    params: dict[str, Any] = Field(default_factory=dict)


class ModelSettings(ModelChoice):
    """A model of the recipe: a choice, a grid of further parameters, features of its own, and how it labels."""

    grid: dict[str, list[Any]] = Field(default_factory=dict)
    features: dict[str, Any] = Field(default_factory=dict, description="on top of the recipe's, for this model alone")
    calibrate: Annotated[
        Literal["better", "isotonic", "platt", "frequency"] | None,
        BeforeValidator(lambda given: None if given == "none" else given),
    ] = Field(
        "isotonic",
        description='how scores become probabilities of being right: "frequency" is Platt\'s with the frequency of the '
        'tag, "better" this or isotonic; "none" leaves them as they are',
    )
    most_cells: int | None = Field(
        None, ge=1, description="words × tags: where there are more the model is left out, and that is said"
    )
    called: str = Field("", description="its name in tables, instead of its class and parameters")
    thresholds: str | None = Field(
        None, description='"cross-validated": the tags\' thresholds of best F1; or a class name: those of that model'
    )

    @field_validator("grid")
    @classmethod
    def _some_values(cls, grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
        require_values(grid)
        return grid

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
        return map(self.at, grid_points(self.grid))

    def at(self, point: Mapping[str, Any]) -> "ModelSettings":
        """Gives the model with these parameters, and with features of its own where they are named `features.…`."""
        own = {name.removeprefix(OWN_FEATURE): v for name, v in point.items() if name.startswith(OWN_FEATURE)}
        params = {name: value for name, value in point.items() if not name.startswith(OWN_FEATURE)}
        called = self.called and self.called + "".join(f" {name}={value}" for name, value in point.items())
        changes = {"params": self.params | params, "features": self.features | own, "grid": {}, "called": called}
        return self.model_copy(update=changes)


class RivalSettings(RecipePart):
    """Somebody else's tagger, which learns from the rows of the recipe's first model in a Python of its own."""

    rival: Literal["omikuji", "napkinxc", "annif"]
    settings: dict[str, Any] = Field(default_factory=dict, description="what it takes, by its own names")
    called: str = Field("", description="its name in tables")

    @property
    def label(self) -> str:
        """Its name in tables."""
        return self.called or self.rival + "".join(f" {name}={value}" for name, value in self.settings.items())


class MeasureSettings(RecipePart):
    """Of rankings, at each of `ks`; and of the labels that each rule of `labelling` gives."""

    ks: list[int] = Field([1, 3, 5, 10])
    primary: str = Field("nDCG@5", validate_default=True, description="what is best; MAE where ratings are learnt from")
    labelling: list[Rule] = Field([])
    columns: list[str] = Field([], description="what tables show instead of the usual measures, such as exact@3")
    against: str = Field("", description="a model by its name in tables, with which all others are compared, too")
    timed: int = Field(0, ge=0, description="so many documents are tagged one by one and timed")
    by_popularity: bool = Field(False, description="below tables: how often popular tags are found, and rare ones")

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
            require_k(name, known.data.get("ks", ()))
            if (rule := rule_of(name)) is not None and rule not in known.data.get("labelling", (rule,)):
                raise ValueError(f"{name!r} is not measured, expected {rule!r} among the rules of labelling")
        return columns


class ChoiceSettings(RecipePart):
    """Settings that a corpus decides: each option in turn, on top of those taken before it, is tried by a quick model
    on validation documents, and taken where it is surely better. Later nights use what was chosen."""

    options: list[dict[str, Any]] = Field(
        description='such as {"features.fields" = { title = 4, text = 1 }} or {"models.OneVsRestLinear.C" = 0.2}'
    )
    documents: int = Field(6000, ge=100, description="to learn and to validate from, at most")
    validation: float = Field(0.3, gt=0, lt=1, description="share of them to validate on")
    seconds: float = Field(120, ge=0, description="no further option is tried after so long")
    renew: bool = Field(False, description="choose again, whatever was chosen before")

    @field_validator("options")
    @classmethod
    def _of_features_and_models(cls, options: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for option in options:
            features = {name.removeprefix("features."): v for name, v in option.items() if name.startswith("features.")}
            if unknown := sorted(set(features) - set(FeatureSettings.model_fields)):
                raise ValueError(f"there is no feature {unknown[0]!r}")
            FeatureSettings.model_validate(features)
            for name in option:
                parts = name.split(".")
                if len(parts) != (2 if parts[0] == "features" else 3) or parts[0] not in ("features", "models"):
                    raise ValueError(f'{name!r} cannot be chosen, expected "features.NAME" or "models.CLASS.PARAMETER"')
        return options


class TuningSettings(RecipePart):
    """Every model's settings are searched on validation documents; only the best are measured on the test.

    The sampler "grid" tries every point of the models' grids. "tpe" and "random" try `trials` points of the grids and
    of the recipe's `search`, each on growing `shares` of the rows, and no further once it is below the others' median.
    """

    validation: float = Field(0.2, gt=0, lt=1, description="share of the training documents")
    measure: str | None = Field(None, description='such as "macro-F1 (class-mass)"; none is the primary one')
    sampler: Literal["grid", "tpe", "random"] = "grid"
    trials: int = Field(30, ge=1, description="of every model")
    shares: tuple[float, ...] = Field((0.25, 1.0), description="of the rows to learn from, growing up to 1.0")

    @field_validator("measure")
    @classmethod
    def _known(cls, measure: str | None) -> str | None:
        if measure is not None:
            find(measure)
        return measure

    @field_validator("shares")
    @classmethod
    def _grow_to_all(cls, shares: tuple[float, ...]) -> tuple[float, ...]:
        if not shares or shares[-1] != 1 or shares[0] <= 0 or any(a >= b for a, b in pairwise(shares)):
            raise ValueError("expected growing numbers above 0, the last of them 1.0")
        return shares

    @property
    def rule(self) -> str | None:
        """The labelling rule that the measure is of."""
        return rule_of(self.measure or "")


class GuardSettings(RecipePart):
    """What must hold before a model goes into service, whatever its quality."""

    min_test: int = Field(20, ge=1, description="so many documents or ratings are held out")
    min_share: float = Field(0.7, ge=0, description="of the documents that the champion was made from are there")
    max_copies: float = Field(0.3, ge=0, le=1, description="of the held-out texts are copies of some to learn from")
    max_drift: float = Field(0.25, ge=0, le=1, description="of the taggings, and of the words, went elsewhere")
    min_agreement: float = Field(0.5, ge=0, le=1, description="of the champion's quality holds on new documents")
    frequent: int = Field(10, ge=1, description="held-out documents that make a tag frequent")
    max_regressed: float = Field(0.1, ge=0, le=1, description="of the frequent tags are found less often, surely")
    max_megabytes: float = Field(4000, gt=0)
    max_milliseconds: float = Field(200, gt=0, description="for one document")


class PromotionSettings(RecipePart):
    """The rule by which a challenger goes into service, once every guard holds.

    By "better" the paired interval of its gain on what was held out must lie above `margin`. By "able" it may also lie
    above minus `tolerance` where the challenger can give tags that the champion does not know.
    """

    rule: Literal["better", "able"] = "better"
    level: float = Field(0.95, gt=0.5, lt=1)
    margin: float = Field(0.0, ge=0)
    tolerance: float = Field(0.01, ge=0)
    floor: bool = Field(True, description="never one that is no better than Popular, or than ItemMean")
    guards: GuardSettings = GuardSettings()
