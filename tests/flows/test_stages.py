"""How stages are put together, without running them: seeds, splits, searches; and steps that need no server."""

from pathlib import Path

import numpy as np
import pytest

from flows import stages
from flows.recipes import load_recipe
from tagcore import load_model
from tagcore.fitting import make_model
from tagcore.labelling.thresholds import cross_validated_thresholds
from tagcore.metrics.evaluation import Evaluation
from tagcore.store.datasets import Dataset
from tasks.cache import read_record
from tasks.cluster.backend import Cluster
from tasks.evaluate import evaluate, signed_value
from tasks.registry.tracking import EvaluatedModel
from tasks.reporting.topics import topics_of
from tasks.thresholds import threshold_seconds, thresholds
from tasks.train import train
from tests.demo import demo_features
from tests.problems import stored_side


@pytest.fixture
def seen(monkeypatch):
    """What the stages were asked for."""
    calls = []
    monkeypatch.setattr(stages, "ingest", lambda recipe: Path("corpus"))
    monkeypatch.setattr(stages, "features", lambda recipe, corpus: Path(f"features {recipe.split.seed}"))
    monkeypatch.setattr(stages, "train", lambda jobs: [job.features for job in jobs])

    def measured(recipe, jobs, models):
        calls.append((recipe, jobs))
        return [EvaluatedModel(j.model.label, j.features, Path(j.model.label), j.features, j.seed) for j in jobs]

    monkeypatch.setattr(stages, "evaluate", measured)
    return calls


def test_seeds_share_one_split_unless_it_is_redrawn(seen):
    settings = {"seeds": [0, 3], "split.seed": 10, "split.kind": "drawn"}
    one = [{"model": "KNN"}]

    def places(**more):
        _, jobs = stages.build_jobs(load_recipe("nightly", {**settings, "models": one, **more}))
        return [(job.features.name, job.seed) for job in jobs]

    assert places() == [("features 10", 0), ("features 10", 3)]
    assert places(**{"split.redraw": True}) == [("features 10", 0), ("features 13", 3)]


@pytest.mark.parametrize(
    ("measure", "rules", "kept"),
    [
        (None, [], None),
        ("macro-F1 (class-mass)", ["class-mass"], None),
        ("micro-F1 (thresholds)", ["thresholds"], "cross-validated"),
    ],
)
def test_a_search_is_by_its_own_measure_on_validation_documents(seen, monkeypatch, measure, rules, kept):
    asked = []

    def by_alpha(evaluation, of):
        asked.append(of)
        return -abs(float(evaluation.name.split("alpha=")[1].split()[0]) - 2.0)

    monkeypatch.setattr(stages, "merit", by_alpha)
    model = {
        "model": "Ridge",
        "grid": {"alpha": [0.5, 2.0, 8.0]},
        "thresholds": "cross-validated",
        "calibrate": "platt",
    }
    settings = {"models": [model, {"model": "KNN"}], "tuning": {"measure": measure}, "seeds": [4, 5]}
    found = stages.tune_models(load_recipe("nightly", {**settings, "measures.labelling": ["half"]}))
    ((searched, jobs),) = seen
    assert set(asked) == {measure or "nDCG@5"}
    assert (searched.split.validation, searched.measures.labelling, {j.seed for j in jobs}) == (0.2, rules, {4})
    assert {(m.thresholds, m.calibrate) for m in searched.models} == {(kept, None)}
    ridge, knn = found.models
    assert (ridge.params, ridge.thresholds, ridge.calibrate) == ({"alpha": 2.0}, "cross-validated", "platt")
    assert knn.model == "KNN"
    assert found.measures.labelling == ["half"]
    assert found.tuning is None


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(store, features) of the demo."""
    store = tmp_path_factory.mktemp("store")
    return store, demo_features(store, documents=300)


def trained(made, thresholds_of=None):
    store, rows = made
    limits = (
        None
        if thresholds_of is None
        else thresholds.fn(rows, thresholds_of, 0, Cluster(root=store / "cluster"), 1, store).result()
    )
    model = {"model": "PassiveAggressive", "params": {"C": 0.3}, "calibrate": None, "label": "PA"}
    return train.fn(rows, model, 0, Cluster(root=store / "cluster"), 1, store, limits).result()


def test_a_model_labels_by_thresholds_of_its_own_or_of_another(made):
    _, rows = made
    X, Y = stored_side(Dataset.open(rows, "features"), "train")
    plain = trained(made)
    assert threshold_seconds(plain) is None
    for of in ({"model": "PassiveAggressive", "params": {"C": 0.3}}, {"model": "OneVsRestLinear", "params": {}}):
        folder = trained(made, of)
        assert folder != plain
        expected = cross_validated_thresholds(make_model(of["model"], of["params"], 0), X, Y)
        np.testing.assert_array_equal(load_model(folder).thresholds, expected)
        assert threshold_seconds(folder) > 0
        assert "seconds" in read_record(folder)
    assert load_model(plain).thresholds is None


def test_an_evaluation_follows_the_recipe_s_rules(made):
    store, rows = made
    measures = {"ks": [1, 5], "labelling": ["thresholds", "class-mass", "sampled"]}
    of = {"model": "PassiveAggressive", "params": {"C": 0.3}}
    folder = evaluate.fn(trained(made, of), rows, measures, "PA", Cluster(), 1, store).result()
    found = Evaluation.load(folder)
    assert found.labelling["rule"].to_pylist() == measures["labelling"]
    assert [n is None for n in found.labelling["labels"].to_pylist()] == [False, False, True]
    assert signed_value(folder, "macro-F1 (class-mass)") == found.summary["macro-F1 (class-mass)"].value > 0.05
    assert signed_value(folder, "coverage") == -found.summary["coverage"].value
    with pytest.raises(ValueError, match=r"'macro-F1 \(sampled\)' was not measured; there are P@1"):
        signed_value(folder, "macro-F1 (sampled)")


def test_topics_are_of_models_that_have_them(made):
    store, rows = made
    assert topics_of(trained(made)) == []
    model = {"model": "BMLPL", "params": {"n_topics": 4, "max_iter": 3}, "calibrate": None, "label": "BMLPL"}
    folder = train.fn(rows, model, 0, Cluster(root=store / "cluster"), 1, store).result()
    found = topics_of(folder)
    assert len(found) == 4
    assert [topic.weight for topic in found] == sorted((topic.weight for topic in found), reverse=True)
    assert set(found[0].tags) < set(load_model(folder).tag_names)
