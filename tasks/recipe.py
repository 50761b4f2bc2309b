"""A recipe names data, split, features, models, seeds and measures: everything that decides a result.

`nightly` is a recipe plus promotion; `experiment` is a recipe over a grid. Recipes are TOML; the ones we ship are in
`flows/presets`.
"""

import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

PRESETS = Path(__file__).parent / "presets"
CROSS_VALIDATED = "cross-validated"

Rule = Literal["half", "class-mass", "thresholds", "sampled"]
RULES: tuple[Rule, ...] = get_args(Rule)


class RecipeError(ValueError):
    """A recipe that cannot be followed; the message names the file, the setting and what was expected."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Data(Part):
    """Where documents come from: `demo`, or the path of a file or folder that a reader recognises."""

    source: str = "demo"
    documents: int = Field(4000, ge=10, description="how many documents the demo makes")
    options: dict[str, Any] = Field(default_factory=dict, description="what the reader of that format takes")
    skip_bad_rows: bool = False


class SplitSettings(Part):
    """`auto` takes the source's own split where it has one, and draws by document id elsewhere."""

    kind: Literal["auto", "official", "drawn"] = "auto"
    test: float | int = Field(0.2, description="a share of the documents, or so many of them")
    seed: int = 0
    redraw: bool = Field(False, description="another split for every seed of the recipe; of a drawn one")
    validation: float = Field(0.0, ge=0, lt=1, description="measure on this share of the training documents instead")
    train_documents: int | None = Field(None, ge=1, description="learn from so many documents only")
    test_documents: int | None = Field(None, ge=1, description="measure on so many documents only")
    revealed: float = Field(1.0, gt=0, le=1, description="learn from this share of the labels; hide the others")

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


class Features(Part):
    """The vectoriser's settings, named as scikit-learn's TfidfVectorizer names them."""

    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    stop_words: Literal["english"] | list[str] | None = None
    stem: str | None = Field(None, description="a Snowball language, such as english")
    sublinear_tf: bool = False
    use_idf: bool = True
    smooth_idf: bool = True
    binary: bool = False
    norm: Literal["l1", "l2"] | None = "l2"


class Model(Part):
    """One model of the house by class name, its parameters, and a grid of further ones."""

    model: str
    params: dict[str, Any] = Field(default_factory=dict)
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    calibrate: Literal["isotonic", "platt"] | None = None
    thresholds: str | None = Field(
        None, description='"cross-validated": the tags\' thresholds of best F1; or a class name: those of that model'
    )

    @property
    def label(self) -> str:
        chosen = sorted(self.params.items()) + ([("thresholds", self.thresholds)] if self.thresholds else [])
        return self.model + "".join(f" {k}={v}" for k, v in chosen)

    @property
    def threshold_model(self) -> dict[str, Any] | None:
        """Class and params of the model whose thresholds this one labels by."""
        if self.thresholds is None:
            return None
        own = self.thresholds == CROSS_VALIDATED
        return {"model": self.model if own else self.thresholds, "params": self.params if own else {}}

    def expand(self) -> Iterator["Model"]:
        for values in itertools.product(*self.grid.values()):
            chosen = {**self.params, **dict(zip(self.grid, values, strict=True))}
            yield self.model_copy(update={"params": chosen, "grid": {}})


class Measures(Part):
    """Of rankings, at each of `ks`; and of the labels that each rule of `labelling` gives."""

    ks: list[int] = [1, 3, 5, 10]
    primary: str = Field("nDCG@5", validate_default=True)
    labelling: list[Rule] = []

    @field_validator("ks")
    @classmethod
    def _positive(cls, ks: list[int]) -> list[int]:
        if not ks or min(ks) < 1:
            raise ValueError("expected one or more numbers of tags, each at least 1")
        return sorted(set(ks))

    @field_validator("primary")
    @classmethod
    def _measured(cls, primary: str, known: ValidationInfo) -> str:
        measured = [f"{name}@{k}" for name in ("P", "R", "nDCG", "acc") for k in known.data.get("ks", ())]
        if measured and primary not in (*measured, "AUC (row)"):
            raise ValueError(f"expected one of {', '.join(measured)}, AUC (row)")
        return primary


class Tuning(Part):
    """Every model's grid is searched on validation documents; only its best point is measured on the test."""

    validation: float = Field(0.2, gt=0, lt=1, description="share of the training documents")
    measure: str | None = Field(None, description='such as "macro-F1 (class-mass)"; none is the primary one')

    @property
    def rule(self) -> Rule | None:
        """The labelling rule that the measure is of."""
        return next((rule for rule in RULES if (self.measure or "").endswith(f"({rule})")), None)


class Promotion(Part):
    """A challenger is promoted when the paired interval of its gain on held-out documents lies above `margin`."""

    level: float = Field(0.95, gt=0.5, lt=1)
    margin: float = Field(0.0, ge=0)


class Recipe(Part):
    name: str = Field("recipe", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    about: str = ""
    seeds: list[int] = Field([0], min_length=1)
    data: Data = Data()
    split: SplitSettings = SplitSettings()
    features: Features = Features()
    models: list[Model] = Field(min_length=1)
    measures: Measures = Measures()
    promotion: Promotion = Promotion()
    tuning: Tuning | None = None
    grid: dict[str, list[Any]] = Field(default_factory=dict, description='settings such as "features.stem" to vary')

    @field_validator("seeds")
    @classmethod
    def _different(cls, seeds: list[int]) -> list[int]:
        return list(dict.fromkeys(seeds))

    @field_validator("models")
    @classmethod
    def _told_apart(cls, models: list[Model]) -> list[Model]:
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
            plain = self.model_dump()
            plain["grid"] = {}
            for path, value in zip(self.grid, values, strict=True):
                _set(plain, path, value)
            yield _validated(plain, f"{self.name}: grid {dict(zip(self.grid, values, strict=True))}")

    def all_models(self) -> list[Model]:
        return [model for spec in self.models for model in spec.expand()]


def load_recipe(name: str, overrides: dict[str, Any] | None = None) -> Recipe:
    """A shipped preset by name, or a TOML file by path; overrides are dotted settings."""
    path = Path(name)
    if path.suffix != ".toml":
        path = PRESETS / f"{name}.toml"
        if not path.is_file() or path.parent != PRESETS:
            raise RecipeError(f"no preset {name!r}; there are {', '.join(presets())}; or give the path of a .toml file")
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecipeError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecipeError(f"{path}: not readable as TOML ({error})") from error
    plain.setdefault("name", path.stem)
    for setting, value in (overrides or {}).items():
        _set(plain, setting, value)
    return _validated(plain, str(path))


def presets() -> list[str]:
    return sorted(p.stem for p in PRESETS.glob("*.toml"))


def _validated(plain: dict[str, Any], where: str) -> Recipe:
    try:
        return Recipe.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        setting = ".".join(str(part) for part in first["loc"])
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise RecipeError(f"{where}: {setting} = {first['input']!r}: {first['msg']}{more}") from error


def _set(plain: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        plain = plain.setdefault(parent, {})
        if not isinstance(plain, dict):
            raise RecipeError(f"{path}: {parent!r} is not a group of settings")
    plain[last] = value
