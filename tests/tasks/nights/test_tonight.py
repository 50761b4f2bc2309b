"""Nights in a row, step by step: what goes on from the night before, what starts over, and why."""

import json
import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from flows.recipes import load_recipe
from tagcore.features.ledger import Changes
from tagcore.features.rows import StoredRows, load_all
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger
from tasks.cache import read_record
from tasks.evaluate import EvaluatedModel, evaluate
from tasks.feature_settings import FeatureSettings
from tasks.features import features, join_views
from tasks.ingest import ingest
from tasks.nights.hold_out import HoldOuts, quality_by_hold_out
from tasks.nights.record import read_nights
from tasks.nights.tonight import Night, open_night
from tasks.promotion.contest import Champion, hold_contest
from tasks.recipe import Recipe
from tasks.recipe_settings import GuardSettings, MeasureSettings, ModelSettings, PromotionSettings
from tasks.train import train
from tests.workspaces import registry_at, workspace_at

THEMES = {"bread": "flour yeast dough oven", "bike": "pedal chain tyre wheel", "garden": "soil seed spade rose"}
FEATURES = FeatureSettings(min_df=2)
KNN = ModelSettings(model="KNN", calibrate=None)
LINEAR = ModelSettings(model="OneVsRestLinear", calibrate=None)
START = datetime(2024, 1, 1)


def documents(n: int, first: int = 0, **more) -> list[dict]:
    """A few words of one theme each; one word of every document comes again in the next."""
    made, names = [], list(THEMES)
    for number in range(first, first + n):
        rng, theme = np.random.default_rng(number), names[number % 3]
        words = [*rng.choice(THEMES[theme].split(), 5), f"w{number // 2}"]
        made.append({"id": f"d{number}", "text": " ".join(words), "tags": [{"tag": theme, **more}]})
    return made


def timed(n: int, first: int = 0) -> list[dict]:
    """One an hour."""
    made = documents(n, first)
    for number, one in enumerate(made, first):
        one["tags"][0]["time"] = (START + timedelta(hours=number)).isoformat()
    return made


class House:
    """A place where night follows night on one file."""

    def __init__(self, folder: Path, **settings) -> None:
        self.folder, self.workspace, self.settings = folder, workspace_at(folder), settings
        self.source = folder / "notes.jsonl"

    @property
    def recipe(self) -> Recipe:
        return load_recipe("nightly", {"data.source": str(self.source), **self.settings})

    def open(self, made: list[dict], full: bool = False, rolled_back: datetime | None = None) -> Night:
        self.source.write_text("".join(json.dumps(one) + "\n" for one in made))
        data = ingest.fn(self.recipe.data, self.workspace).result()
        return open_night("notes", self.recipe, data, full, self.workspace, rolled_back)

    def prepare(self, night: Night, settings: FeatureSettings = FEATURES) -> Path:
        start = night.grow(settings, "build features")
        made = features.fn(night.data, settings, night.split, self.workspace, growth=start.parent, why=start.why)
        night.prepared(settings, made.result())
        return made.result()

    def learn(self, night: Night, rows: Path, model: ModelSettings = KNN) -> Path:
        start = night.start(model, 0, rows)
        stored = train.fn(rows, model, 0, self.workspace, parent=start.parent, why=start.why).result()
        night.trained(model, 0, stored)
        return stored

    def whole(self, made: list[dict], full: bool = False, settings: FeatureSettings = FEATURES) -> tuple[Night, Path]:
        """A night with its one model, whose guards all passed."""
        night = self.open(made, full)
        model = self.learn(night, self.prepare(night, settings))
        night.end()
        return night, model


def remark(folder: Path) -> str:
    return read_record(folder)["remark"]


def features_of(house: House, model: Path) -> Path:
    key = json.loads((model / "manifest.json").read_text())["inputs"]["features"]
    return house.workspace.store / f"features-{key[:16]}"


def test_a_night_goes_on_from_the_one_before_and_learns_new_documents_only(tmp_path):
    house = House(tmp_path)
    _, first = house.whole(documents(90))
    assert remark(first) == "trained from nothing: its features were made from nothing"
    night, second = house.whole(documents(110))
    new = 20 - night.changes.new_held_out
    assert remark(second) == f"warm start: {new} new documents from last night's {first.name}"
    told = remark(features_of(house, second))
    assert told.startswith(f"extended: 110 documents, 20 new ({20 - new} held out); ")
    assert "nights 1 (at most 6)" in told
    assert "unknown words " in told
    alone = train.fn(features_of(house, second), KNN, 0, house.workspace).result()
    assert alone != second  # the parent is part of what a model is known by
    # the index of the second night holds every document to learn from once
    rows = StoredRows.open(features_of(house, second), "train")
    model = Tagger.load(second).model
    assert model.tag_starts_.size - 1 == rows.n_rows
    X, Y = load_all(rows)
    again = type(model)(**model.get_params()).fit(X, Y)
    for name in type(model)._all_arrays():
        np.testing.assert_array_equal(getattr(model, name), getattr(again, name))


def test_nothing_goes_on_from_nights_before_a_rollback(tmp_path):
    house = House(tmp_path)
    first, _ = house.whole(documents(60))
    after, long_ago = first.at + timedelta(hours=1), first.at - timedelta(hours=1)
    start = house.open(documents(70), rolled_back=after).grow(FEATURES, "build features")
    assert start.why == "from nothing: a model was rolled back since then"
    assert house.open(documents(70), rolled_back=long_ago).grow(FEATURES, "build features").why.startswith("extended")


def test_a_night_whose_ledger_is_gone_says_so(tmp_path):
    house = House(tmp_path)
    first, _ = house.whole(documents(60))
    shutil.rmtree(first.ledger)
    start = house.open(documents(70)).grow(FEATURES, "build features")
    assert start.why == "from nothing: the ledger of the night before is gone"


def test_the_same_chain_of_nights_gives_the_same_bits_and_a_second_run_redoes_nothing(tmp_path):
    houses = [House(tmp_path / name) for name in ("one", "other")]
    for house in houses:
        house.folder.mkdir()
        models = [house.whole(documents(n))[1] for n in (60, 70, 80)]
        stored = sorted(path.name for path in house.workspace.store.iterdir())
        night, again = house.whole(documents(80))
        assert (night.number, again) == (2, models[-1])
        assert sorted(path.name for path in house.workspace.store.iterdir()) == stored
        assert len(read_nights(night.path)) == 3
    one, other = (sorted((house.workspace.store).glob("*/manifest.json")) for house in houses)
    # the corpus knows the path of its source by its content alone
    assert [path.parent.name for path in one] == [path.parent.name for path in other]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_a_killed_night_goes_on_from_what_stands(tmp_path):
    house = House(tmp_path)
    house.whole(documents(60))
    killed = house.open(documents(70))
    rows = house.prepare(killed)  # and here the power fails
    stored = {path.name: path.stat().st_mtime_ns for path in house.workspace.store.glob("*/manifest.json")}
    night = house.open(documents(70))
    assert (night.number, night.before) == (killed.number, killed.before)
    assert house.prepare(night) == rows
    again = {path.name: path.stat().st_mtime_ns for path in house.workspace.store.glob("*/manifest.json")}
    assert again == stored
    assert remark(house.learn(night, rows)).startswith("warm start")


def test_a_night_that_did_not_pass_its_guards_is_not_gone_on_from(tmp_path):
    house = House(tmp_path)
    _, first = house.whole(documents(60))
    refused = house.open(documents(70))
    house.learn(refused, house.prepare(refused))
    night, third = house.whole(documents(80))
    assert night.number == 1
    assert first.name in remark(third)
    assert night.changes.new == 20


def test_a_full_retrain_starts_over_and_the_next_night_goes_on_from_it(tmp_path):
    house = House(tmp_path)
    house.whole(documents(60))
    _, warm = house.whole(documents(70))
    night, full = house.whole(documents(70), full=True)
    assert night.number == 1
    assert remark(features_of(house, full)) == "from nothing: a full retrain was asked for"
    assert full != warm
    # the same data again: it was a full night and stays one
    assert house.whole(documents(70))[1] == full
    later, model = house.whole(documents(80))
    assert full.name in remark(model)
    assert next(iter(later.lineages.values())).nights == 1


def test_each_limit_of_the_rule_makes_a_night_start_over(tmp_path):
    base = documents(90)
    renamed = [one | {"tags": ["loaf" if one["tags"][0]["tag"] == "bread" else one["tags"][0]["tag"]]} for one in base]
    strange = [one | {"text": f"quokka numbat {one['text']}"} for one in documents(20, 90)]
    cases = {
        "nights 1 (at most 0)": (documents(95), {"warm.max_nights": 0}),
        "new documents 111.1% (at most 50.0%)": (documents(190), {}),
        "changed documents 6.7% (at most 5.0%)": ([one | {"text": "soil rose"} for one in base[:6]] + base[6:], {}),
        "documents that are gone 11.1% (at most 5.0%)": (base[10:], {}),
        "changed documents 33.3% (at most 5.0%)": (renamed, {}),
        "removed tags 1 (at most 0)": (renamed, {"warm.max_changed": 1.0}),
        "unknown words ": (base + strange, {"warm.max_unknown": 0.1}),
        "warm.enabled = false": (documents(95), {"warm.enabled": False}),
        "the split is another one": (documents(95), {"split.test": 0.3}),
    }
    for number, (why, (made, settings)) in enumerate(cases.items()):
        house = House(tmp_path / str(number))
        house.folder.mkdir()
        house.whole(base)
        house.settings = settings
        night = house.open(made)
        start = night.grow(FEATURES, "build features")
        assert start.parent is None
        assert start.why.startswith(f"from nothing: {why}"), start.why
        assert night.tags["night.features.0"] == f"build features: {start.why}"


def test_of_features_side_by_side_the_first_tell_whether_they_were_extended(tmp_path):
    house, pairs = House(tmp_path), FEATURES.on_top_of(ngram_range=(1, 2))
    blend = ModelSettings(model="Blend")
    for n, why in ((90, "its features were made from nothing"), (110, "Blend has no partial_fit and no grow")):
        night = house.open(documents(n))
        views = [house.prepare(night, settings) for settings in (FEATURES, pairs)]
        joined = join_views.fn(views, house.workspace).result()
        assert night.start(blend, 0, joined).why == why
        night.end()


def test_what_is_told_of_own_features_is_a_tag_that_mlflow_takes(tmp_path):
    night = House(tmp_path).open(documents(60))
    title = "build features (min_df=2, ngram_range=[1, 2])"  # names of tags may not hold all of this
    night.grow(FEATURES, title)
    with registry_at(tmp_path / "registry").open() as client:
        run = client.create_run(client.create_experiment("nights")).info.run_id
        for name, value in night.tags.items():
            client.set_tag(run, name, value)
        assert title in client.get_run(run).data.tags["night.features.0"]


def test_the_rule_counts_from_the_night_that_weighed_words(tmp_path):
    house = House(tmp_path, **{"warm.max_nights": 2})
    base = documents(100)
    made = [house.whole([one | {"text": "soil rose"} for one in base[:n]] + base[n:])[1] for n in (0, 2, 4)]
    assert [remark(model).partition(":")[0] for model in made] == ["trained from nothing", "warm start", "warm start"]
    night = house.open([one | {"text": "soil rose"} for one in base[:6]] + base[6:])
    limits = {limit.name: limit for limit in _limits(night)}
    assert limits["changed documents"].found == "6.0%"  # two a night, three nights
    assert (limits["nights"].found, limits["nights"].holds) == ("3", False)


def _limits(night: Night):
    night.grow(FEATURES, "build features")
    return night.decided["build features"][1]


def test_old_features_are_not_gone_on_from(tmp_path):
    house = House(tmp_path)
    house.whole(documents(60))
    night = house.open(documents(65))
    late = replace(night, at=night.at + timedelta(days=9), decided={})
    assert late.grow(FEATURES, "build features").why == "from nothing: days 9.0 (at most 8)"


def test_what_last_night_left_may_be_gone_or_other(tmp_path):
    house = House(tmp_path)
    _, first = house.whole(documents(60))
    night = house.open(documents(65))
    rows = house.prepare(night)
    assert night.start(LINEAR, 0, rows).why == "OneVsRestLinear has no partial_fit and no grow"
    assert night.start(KNN.model_copy(update={"params": {"power": 1.0}}), 0, rows).why == "last night had no such model"
    assert night.start(KNN.model_copy(update={"calibrate": "platt"}), 0, rows).why.startswith("its parameters")
    assert night.start(KNN.model_copy(update={"thresholds": "KNN", "called": "KNN"}), 0, rows).parent is None
    stray = train.fn(rows, KNN, 0, house.workspace).result().name
    elsewhere = replace(night, before=replace(night.before, models={"KNN, seed 0": stray}))
    assert elsewhere.start(KNN, 0, rows).why == "last night's model is of other features"
    other = night.grow(FeatureSettings(min_df=3), "other features")
    assert other.why == "from nothing: last night had no such features"
    (first / "tags.parquet").unlink()
    assert "cannot be used" in night.start(KNN, 0, rows).why
    for path in house.workspace.store.glob("features-*/train.parquet"):
        path.unlink()
    assert "cannot be used" in house.open(documents(66)).grow(FEATURES, "build features").why


def held_out(night: Night) -> set[str]:
    table = Dataset.open(night.ledger, "ledger").read("documents").to_pydict()
    return {name for name, held in zip(table["id"], table["held_out"], strict=True) if held}


def test_the_hold_out_is_the_newest_share_of_the_first_night_and_stays(tmp_path):
    house = House(tmp_path)
    first, _ = house.whole(timed(100))
    assert first.split.kind == "newest"
    assert held_out(first) == {f"d{i}" for i in range(80, 100)}
    later, model = house.whole(timed(140))
    assert held_out(later) & {f"d{i}" for i in range(100)} == held_out(first)
    new = held_out(later) - held_out(first)
    assert 0 < len(new) < 20
    full, _ = house.whole(timed(140), full=True)
    assert held_out(full) == held_out(later)
    # a time that changes moves nobody
    made = timed(150)
    made[3]["tags"][0]["time"], made[90]["tags"][0]["time"] = made[90]["tags"][0]["time"], made[3]["tags"][0]["time"]
    moved, model = house.whole(made)
    assert moved.split.exceptions == ("d3", "d90")
    assert held_out(moved) & {f"d{i}" for i in range(140)} == held_out(later)
    assert remark(model).startswith("warm start")


def test_a_source_without_times_is_drawn_also_when_times_come_later(tmp_path):
    house = House(tmp_path)
    first, _ = house.whole(documents(60))
    assert first.split.kind == "drawn"
    second, _ = house.whole(documents(60) + timed(10, 60))
    assert second.split.kind == "drawn"
    assert held_out(second) >= held_out(first)


@pytest.fixture(scope="module")
def two_timed_nights(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("timed"))
    (_, champion), (night, model) = house.whole(timed(100)), house.whole(timed(140))
    rows = features_of(house, model)
    evaluation = evaluate.fn(model, rows, MeasureSettings(), "KNN", house.workspace).result()
    return house, night, champion, EvaluatedModel("KNN", model, evaluation, rows)


def test_promotion_decides_on_the_first_hold_out_and_guards_the_newest(two_timed_nights):
    _, night, champion, challenger = two_timed_nights
    newest = night.changes.new_held_out
    contest = hold_contest(challenger, Champion(champion), night.data, "P@1", PromotionSettings(), night.ledger)
    assert contest.ours.shape == contest.theirs.shape == contest.floor.shape == (20,)
    (guard,) = [guard for guard in contest.guards if guard.name == "latest nights"]
    assert guard.found.endswith(f"on {newest} documents")
    without = hold_contest(challenger, Champion(champion), night.data, "P@1", PromotionSettings())
    assert without.ours.size == 20 + newest


def test_all_held_out_documents_decide_where_few_are_left_of_the_first_hold_out(two_timed_nights):
    _, night, champion, challenger = two_timed_nights
    more = PromotionSettings(guards=GuardSettings(min_test=21))
    contest = hold_contest(challenger, Champion(champion), night.data, "P@1", more, night.ledger)
    assert contest.ours.shape == contest.theirs.shape == contest.floor.shape == (20 + night.changes.new_held_out,)
    assert contest.units == "documents, later ones among them: of those that the first night held out 20 are left"


def test_a_champion_of_another_split_is_not_asked_about_what_it_has_learnt(two_timed_nights):
    _, night, champion, challenger = two_timed_nights
    other = Split("drawn", 0.5, seed=3)
    unlearnt = hold_contest(
        challenger,
        Champion(champion, split=other),
        night.data,
        "P@1",
        PromotionSettings(guards=GuardSettings(min_test=1)),
        night.ledger,
    )
    ids = sorted(held_out(night) & {f"d{i}" for i in range(100)})
    expected = other.held_out(pa.table({"id": ids})).sum()
    assert unlearnt.ours.size == expected
    assert unlearnt.units == "documents that the champion's own split held out, too"


def test_quality_is_told_on_both(two_timed_nights):
    _, night, _, challenger = two_timed_nights
    ((label, fixed, n, newest, n_new),) = quality_by_hold_out([challenger], night.ledger, "P@1")
    assert (label, n, n_new) == ("KNN", "20", str(night.changes.new_held_out))
    assert 0 <= float(fixed.split()[0]) <= 1
    assert 0 <= float(newest.split()[0]) <= 1
    parts = HoldOuts.of(night.ledger, np.arange(140))
    assert parts.fixed.tolist() == [True] * 100 + [False] * 40
    assert parts.newest.tolist() == [False] * 100 + [True] * 40


def test_a_night_that_brings_nothing_says_so():
    assert Changes(documents=5).told() == "5 documents"
