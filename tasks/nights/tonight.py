"""Tonight: its hold-out, its ledger, and for every model whether it goes on from last night's."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tagcore.features.build import VECTORISER
from tagcore.features.growth import Growth, write_growth
from tagcore.features.ledger import Changes, stay_on_sides, write_ledger
from tagcore.fitting import make_model
from tagcore.store.datasets import Dataset, StoreError, content_key, read_manifest
from tagcore.tag_model import TagModel
from tagcore.text.growing import ColumnsMoved
from tagcore.text.saving import read_params
from tasks.cache import PlannedResult, run_cached, stored_folder, stored_key
from tasks.code_hash import code_hash
from tasks.feature_settings import FeatureSettings
from tasks.features import choose_split, find_newest, has_official_split
from tasks.nights.continuation import Limit, after_night, limits_of_documents, limits_of_words
from tasks.nights.record import NIGHTS, Lineage, NightRecord, note_night, read_nights
from tasks.nights.warm_settings import WarmSettings
from tasks.progress import ProgressReporter
from tasks.recipe import Recipe
from tasks.recipe_settings import ModelSettings, SplitSettings
from tasks.train import model_parameters
from tasks.workspace import Workspace


@dataclass(frozen=True)
class Start:
    """Where a step begins: from what the night before left, or from nothing; and why."""

    parent: Path | None
    why: str


@dataclass
class Night:
    """One night on a corpus, and what it finds of the one before."""

    workspace: Workspace
    path: Path  # of the record of all nights of this name
    nights: list[NightRecord]
    before: NightRecord | None
    number: int
    at: datetime
    data: Path
    ledger: Path
    asked_split: SplitSettings
    split: SplitSettings
    settings: WarmSettings
    full: bool
    rolled_back: bool = False  # a model, since the night before
    decided: dict[str, tuple[str, list[Limit]]] = field(default_factory=dict)  # of features, by their title
    lineages: dict[str, Lineage] = field(default_factory=dict)  # of tonight's features
    models: dict[str, str] = field(default_factory=dict)

    @property
    def changes(self) -> Changes:
        return Changes.load(self.ledger)

    def grow(self, features: FeatureSettings, title: str) -> Start:
        """Decides whether the features of last night are extended: then words and tags that are new stand ready."""
        start, limits = self._growth(features)
        broken = [limit for limit in limits if not limit.holds]
        if broken:
            start = Start(None, f"from nothing: {broken[0].told()}")
        self.decided[title] = start.why, limits
        return start

    def _growth(self, features: FeatureSettings) -> tuple[Start, list[Limit]]:
        lineage = None if self.before is None else self.before.lineages.get(_name_of(features))
        if (obstacle := self._obstacle(lineage)) or lineage is None:
            return Start(None, f"from nothing: {obstacle}"), []
        limits = limits_of_documents(lineage, self.changes, self.settings, self.at)
        if not all(limit.holds for limit in limits):
            return Start(None, ""), limits
        try:
            folder = self._write_growth(self.workspace.store / lineage.features)
        except ColumnsMoved as error:
            return Start(None, f"from nothing: {error}"), limits
        growth = Growth.load(folder)
        limits += limits_of_words(growth, self.settings)
        counts = f"{self.changes.told()}; {growth.new_words:,} new words, {growth.new_tags:,} new tags"
        return Start(folder, f"extended: {counts}; {', '.join(limit.told() for limit in limits)}"), limits

    def _obstacle(self, lineage: Lineage | None) -> str:
        """Why last night's features cannot be extended at all; empty where they can."""
        if self.before is None:
            known = any(night.corpus != self.data.name for night in self.nights)
            return "the ledger of the night before is gone" if known else "the first night"
        if self.full:
            return "a full retrain was asked for"
        if self.rolled_back:
            return "a model was rolled back since then"
        if not self.settings.enabled:
            return "warm.enabled = false"
        if lineage is None:
            return "last night had no such features"
        folder = self.workspace.store / lineage.features
        try:
            manifest = Dataset.open(folder, "features", verify=False).manifest
        except StoreError as error:
            return f"what last night stored cannot be used ({error})"
        if manifest["inputs"]["code"] != code_hash():
            return "last night's features are of another version of the code"
        split = choose_split(self.data, self.split)
        if not split.by_share:
            return "the split is by numbers of documents, or hides labels"
        if _sides(vars(split)) != _sides(manifest["parameters"]["split"]):
            return "the split is another one"
        return ""

    def _write_growth(self, before: Path) -> Path:
        data, known = Dataset.open(self.data, "corpus", verify=False), Dataset.open(before, "features", verify=False)
        split, base = choose_split(self.data, self.split), _base_words(self.workspace.store, known)
        inputs = {"features": known.key, "ledger": stored_key(self.ledger, "ledger"), "corpus": data.key}
        plan = PlannedResult(self.workspace.store, "growth", {"split": vars(split), "base_words": base}, inputs)

        def make(folder: Path, step: ProgressReporter) -> None:
            ledger = Dataset.open(self.ledger, "ledger", verify=False)
            write_growth(data, folder, known, ledger, split, base, **plan.manifest)
            growth = Growth.load(folder)
            step.remark = (
                f"{growth.new_words:,} new words, {growth.new_tags:,} new tags, {growth.removed_tags:,} removed ones, "
                f"{growth.unknown_share:.1%} of the words of new documents unknown"
            )

        return run_cached(plan, "look for new words and tags", make).result()

    def start(self, model: ModelSettings, seed: int, features: Path) -> Start:
        """Decides whether the model of last night is taken further on tonight's features."""
        inputs = read_manifest(features, "features")["inputs"]
        if (leading := inputs.get("features")) is not None:  # of several kinds side by side, all were made alike
            inputs = read_manifest(stored_folder(self.workspace.store, "features", leading), "features")["inputs"]
        if "growth" not in inputs:
            return Start(None, "its features were made from nothing")
        assert self.before is not None
        growth = read_manifest(stored_folder(self.workspace.store, "growth", inputs["growth"]), "growth")
        estimator = make_model(model.model, model.params, seed, TagModel)
        missing = [name for name in ("partial_fit", "grow") if not hasattr(estimator, name)]
        if missing:
            return Start(None, f"{type(estimator).__name__} has no {' and no '.join(missing)}")
        if model.thresholds is not None:
            return Start(None, "its thresholds are searched on all documents")
        name = self.before.models.get(_model_name(model, seed))
        if name is None:
            return Start(None, "last night had no such model")
        try:
            parent = Dataset.open(self.workspace.store / name, "model", verify=False).manifest
        except StoreError as error:
            return Start(None, f"last night's model cannot be used ({error})")
        if parent["inputs"]["features"] != growth["inputs"]["features"]:
            return Start(None, "last night's model is of other features")
        if parent["parameters"] != _plain(model_parameters(estimator, model, seed)):
            return Start(None, "its parameters are others than last night's")
        return Start(self.workspace.store / name, f"from last night's {name}")

    @property
    def tags(self) -> dict[str, str]:
        """What was decided, for the night's run in MLflow."""
        told = {
            f"night.features.{number}": f"{title}: {why}"
            for number, (title, (why, _)) in enumerate(self.decided.items())
        }
        return {"night.number": str(self.number), "night.documents": self.changes.told(), **told}

    def limit_rows(self) -> list[list[str]]:
        """The rule as a table: what, whether it holds, what was found, and the limit; for every kind of features."""
        rows = []
        for title, (why, limits) in self.decided.items():
            rows.append([title, "", why.partition(";")[0], ""])
            rows += [[limit.name, "passed" if limit.holds else "refused", limit.found, limit.most] for limit in limits]
        return rows

    def prepared(self, settings: FeatureSettings, features: Path) -> None:
        """Notes which features were made, for the next night."""
        manifest, name = read_manifest(features, "features"), _name_of(settings)
        if "growth" in manifest["inputs"]:
            assert self.before is not None
            self.lineages[name] = after_night(self.before.lineages[name], features.name, self.changes)
        else:
            self.lineages[name] = Lineage(features.name, self.at.isoformat(), self.changes.documents)

    def trained(self, model: ModelSettings, seed: int, folder: Path) -> None:
        """Notes which model was made, for the next night."""
        self.models[_model_name(model, seed)] = folder.name

    def end(self) -> None:
        """Leaves tonight's results to the next night, which goes on from them."""
        note_night(
            self.path,
            self.nights,
            NightRecord(
                number=self.number,
                at=self.at.isoformat(),
                corpus=self.data.name,
                ledger=self.ledger.name,
                asked_split=_told(self.asked_split),
                split=self.split.model_copy(update={"exceptions": ()}).model_dump(mode="json"),
                full=self.full,
                lineages=self.lineages,
                models=self.models,
            ),
        )


def open_night(
    name: str, recipe: Recipe, data: Path, full: bool, workspace: Workspace, rolled_back: datetime | None = None
) -> Night:
    """Finds the night before, settles the hold-out, and writes the ledger of tonight's documents.

    The same data again are the same night again, with the same night before it: so a night that was killed, or is run
    twice, comes to the same results. From nights before a model was `rolled_back` nothing goes on: it may have been of
    any of them.
    """
    path = workspace.settings.state / NIGHTS / f"{name}.json"
    nights = read_nights(path)
    again = nights[-1] if nights and nights[-1].corpus == data.name else None
    earlier = nights[:-1] if again else nights
    before = earlier[-1] if earlier and _stands(workspace.store / earlier[-1].ledger) else None
    split = _settle_split(data, recipe.split, again or before or (earlier[-1] if earlier else None))
    ledger_before = None if before is None else workspace.store / before.ledger
    if ledger_before is not None and split.kind == "newest":
        corpus, known = Dataset.open(data, "corpus", verify=False), Dataset.open(ledger_before, "ledger", verify=False)
        stays = stay_on_sides(corpus, choose_split(data, split), known)
        split = split.model_copy(update={"exceptions": tuple(stays.exceptions)})
    number = 0 if before is None else before.number + 1
    ledger = _write_ledger(data, split, number, ledger_before, workspace)
    at = datetime.fromisoformat(again.at) if again else datetime.now(UTC)
    return Night(
        workspace=workspace,
        path=path,
        nights=nights,
        before=before,
        number=number,
        at=at,
        data=data,
        ledger=ledger,
        asked_split=recipe.split,
        split=split,
        settings=recipe.warm,
        full=full or (again is not None and again.full),
        rolled_back=bool(before and rolled_back and rolled_back > datetime.fromisoformat(before.at)),
    )


def _settle_split(data: Path, asked: SplitSettings, earlier: NightRecord | None) -> SplitSettings:
    """The split of the first night as long as the recipe asks for the same; `auto` means the newest documents where all
    have a time and the source has no split of its own."""
    if earlier is not None and earlier.asked_split == _told(asked):
        return SplitSettings.model_validate(earlier.split)
    if asked.kind == "official" or asked.kind == "drawn" or (asked.kind == "auto" and has_official_split(data)):
        return asked
    if asked.after is not None and asked.until is not None:
        return asked.model_copy(update={"kind": "newest"})
    cut = None if asked.redraw else find_newest(data, asked)
    if cut is None:  # which is an error where the newest were asked for
        return asked if asked.kind == "newest" else asked.model_copy(update={"kind": "drawn"})
    after, until = (datetime.fromtimestamp(time / 1e6, UTC) for time in cut)
    return asked.model_copy(update={"kind": "newest", "after": after, "until": until})


def _write_ledger(data: Path, split: SplitSettings, number: int, before: Path | None, workspace: Workspace) -> Path:
    chosen, corpus = choose_split(data, split), Dataset.open(data, "corpus", verify=False)
    inputs = {"corpus": corpus.key}
    if before is not None:
        inputs["ledger"] = stored_key(before, "ledger")
    plan = PlannedResult(workspace.store, "ledger", {"split": vars(chosen), "night": number}, inputs)

    def make(folder: Path, step: ProgressReporter) -> None:
        known = None if before is None else Dataset.open(before, "ledger", verify=False)
        write_ledger(corpus, folder, chosen, number, known, **plan.manifest)
        step.remark = Changes.load(folder).told()

    return run_cached(plan, "look for new documents", make).result()


def _told(split: SplitSettings) -> dict[str, Any]:
    """What a recipe says of its split; settings that come with later versions change nothing."""
    return split.model_dump(mode="json", exclude_defaults=True)


def _stands(ledger: Path) -> bool:
    try:
        Dataset.open(ledger, "ledger", verify=False)
    except StoreError:
        return False
    return True


def _base_words(store: Path, features: Dataset) -> int:
    """How many words were known when idf was learnt."""
    growth = features.manifest["inputs"].get("growth")
    if growth is None:
        return int(read_params(features.folder / VECTORISER)[1]["n_terms"])
    return Growth.load(stored_folder(store, "growth", growth)).base_words


def _sides(split: dict[str, Any]) -> dict[str, Any]:
    """What decides the side of a document that nobody has seen."""
    return _plain({name: value for name, value in split.items() if name != "exceptions"})


def _name_of(features: FeatureSettings) -> str:
    return content_key("features", features.model_dump(mode="json"), {})[:16]


def _model_name(model: ModelSettings, seed: int) -> str:
    return f"{model.label}, seed {seed}"


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """As they are read back from a manifest."""
    return json.loads(json.dumps(values, default=str))
