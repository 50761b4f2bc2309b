"""The jobs of a recipe: what is prepared for its models, each kind of features once, and what is trained on it."""

from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from prefect import flow

from flows.map_tasks import run_task
from tagcore.store.datasets import Dataset, read_manifest
from tasks.blend_members import (
    classes_of_members,
    view_name,
    views_of,
    with_columns,
    without_features_of_texts,
    without_large_views,
    without_members,
)
from tasks.data_kinds import kind_of
from tasks.features import count_cells, count_words, join_views
from tasks.naming import errors_name_source
from tasks.nights.tonight import Night, Start
from tasks.progress import ProgressReporter
from tasks.recipe import Recipe
from tasks.recipe_settings import ModelSettings, SplitSettings
from tasks.workspace import Workspace


@dataclass(frozen=True)
class Job:
    """One model to train and measure on what was prepared for it: features, or split ratings."""

    model: ModelSettings
    prepared: Path
    seed: int
    which: str = ""  # of several jobs of the same model, as it is told: data, split, seed
    label: str = ""  # its name in tables; the model's own where none is given
    start: Start | None = None  # of a night: from the model of the night before, or from nothing
    number: int = 0  # of its model among all of the recipe, of which some may be left out
    views: tuple[Path, ...] = ()  # what was prepared side by side, where that is more than one kind of features

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.model.label)

    @property
    def read(self) -> tuple[Path, ...]:
        """Every kind of features that it reads."""
        return self.views or (self.prepared,)


class AllLeftOutError(ValueError):
    """The data are nothing for any model of the recipe; `prepared` is what the last of them would have learnt from."""

    def __init__(self, message: str, prepared: Path) -> None:
        super().__init__(message)
        self.prepared = prepared


@flow(name="prepare", flow_run_name="prepare {recipe.name}")
def prepare(recipe: Recipe, data: Path, preparation: dict[str, Any], workspace: Workspace) -> Path:
    """Splits the data; of documents, also learns vocabulary and word weights from the training side alone."""
    with errors_name_source(recipe.data, data):
        return run_task(kind_of(recipe.data.kind).prepare, data=data, **preparation, workspace=workspace)


def build_jobs(
    recipe: Recipe, data: Path, workspace: Workspace, point: str = "", night: Night | None = None
) -> list[Job]:
    """Prepares what the models need, for every split, and lists what is to be trained on it; `point` tells the recipe
    from others of its experiment. A `night` decides what goes on from the night before."""
    kind = kind_of(recipe.data.kind)
    preparer = _Preparer(recipe, data, workspace, night)
    jobs, left_out, why = [], set[str](), ""
    for seed in recipe.seeds:
        split = split_of_seed(recipe, seed)
        documents = [point, f"split {split.seed}" if len(recipe.seeds) > 1 and recipe.split.redraw else ""]
        documents += [f"share {split.train_seed}"] if len(recipe.seeds) > 1 and recipe.split.resample else []
        which = _told([*documents, f"seed {seed}" if len(recipe.seeds) > 1 else ""])
        for number, asked in enumerate(recipe.all_models()):
            model = preparer.as_read(asked)
            prepared = preparer.prepare(model, split, _told(documents))
            if against := kind.why_left_out(model, prepared):
                why = f"{model.label}: {against}"
                ProgressReporter(f"leave out {model.label}{which}", remark=against).tell("left out")
                left_out.add(model.model)
                continue
            model = without_members(model, left_out)
            for member in classes_of_members(model):
                if against := kind.why_left_out(ModelSettings(model=member), prepared):
                    ProgressReporter(f"leave out {member} of {model.label}{which}", remark=against).tell("left out")
                    left_out.add(member)
            model, views = preparer.prepare_members(without_members(model, left_out), split, _told(documents))
            if len(views) > 1:
                prepared = run_task(join_views, views=views, workspace=workspace)
            start = None if night is None else night.start(model, seed, prepared)
            jobs.append(Job(model, prepared, seed, which, start=start, number=number, views=tuple(views)))
    if not jobs:
        raise AllLeftOutError(f"{recipe.name}: every model is left out; {why}", prepared)
    return jobs


def split_of_seed(recipe: Recipe, seed: int) -> SplitSettings:
    """A split of its own for every seed where the recipe redraws it, or what is learnt from; else one for all."""
    split = recipe.split
    if split.resample:
        split = split.model_copy(update={"train_seed": split.train_seed + seed})
    return split.model_copy(update={"seed": split.seed + seed}) if split.redraw else split


@dataclass
class _Preparer:
    """Prepares what models ask for, once for all that ask for the same."""

    recipe: Recipe
    data: Path
    workspace: Workspace
    night: Night | None
    made: dict[str, Path] = field(default_factory=dict)

    def as_read(self, model: ModelSettings) -> ModelSettings:
        """Gives the model without features of texts, where words were counted elsewhere, and tells it."""
        read = without_features_of_texts(model)
        if read == model or not Dataset.open(self.data, "corpus", verify=False).has("bags"):
            return model
        remark = "words were counted elsewhere, and there are no texts to make them of"
        ProgressReporter(f"leave out features of {model.label}", remark=remark).tell("left out")
        return read

    def prepare(self, model: ModelSettings, split: SplitSettings, which: str, anew: bool = False) -> Path:
        """Gives what the model learns from; of a night, `anew` extends nothing of the night before."""
        preparation = kind_of(self.recipe.data.kind).preparation(self.recipe, model, split)
        title = preparation["title"] + which
        key = repr({**preparation, "title": "", "anew": anew})
        if key not in self.made:
            self.made[key] = self._make(preparation | {"title": title}, None if anew else self.night)
        return self.made[key]

    def prepare_members(
        self, model: ModelSettings, split: SplitSettings, which: str
    ) -> tuple[ModelSettings, list[Path]]:
        """Gives a blend whose members read columns of several kinds of features side by side, and these features; of
        any other model, and of a blend whose members all read the same, the model as it is and nothing."""
        if len(views_of(model)) < 2:
            return model, []
        views = self._views(model, split, which)
        cells = {view_name(view): count_cells(folder) for view, folder in views}
        limits = {other.model: other.most_cells for other in self.recipe.models if other.most_cells is not None}
        model = without_large_views(model, cells, limits)
        kept = views_of(model)
        views = [(view, folder) for view, folder in views if view in kept]
        if len(views) < 2:
            return model, []
        edges = list(accumulate((count_words(folder) for _, folder in views), initial=0))
        return with_columns(model, [view for view, _ in views], edges), [folder for _, folder in views]

    def _views(self, model: ModelSettings, split: SplitSettings, which: str) -> list[tuple[dict[str, Any], Path]]:
        """The features of every view. Where one of them cannot be extended none is: rows would stand in two orders."""
        views = views_of(model)
        models = [model.model_copy(update={"features": model.features | view}) for view in views]
        folders = [self.prepare(one, split, which) for one in models]
        if len({_is_extended(folder) for folder in folders}) > 1:
            folders = [self.prepare(one, split, which, anew=True) for one in models]
        return list(zip(views, folders, strict=True))

    def _make(self, preparation: dict[str, Any], night: Night | None) -> Path:
        if night is None:
            return prepare(self.recipe, self.data, preparation, self.workspace)
        start = night.grow(preparation["settings"], preparation["title"])
        preparation |= {"growth": start.parent, "why": start.why}
        made = prepare(self.recipe, self.data, preparation, self.workspace)
        night.prepared(preparation["settings"], made)
        return made


def _is_extended(features: Path) -> bool:
    return "growth" in read_manifest(features, "features")["inputs"]


def _told(parts: list[str]) -> str:
    return "".join(f", {part}" for part in parts if part)
