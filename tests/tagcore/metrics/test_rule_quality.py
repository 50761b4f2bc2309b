"""Labels by rule against counting and scikit-learn on dense arrays, whatever a model can or cannot follow."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, ndtr, ndtri
from sklearn.metrics import f1_score

from tagcore.features.rows import InMemory
from tagcore.labelling.expected_f import ExpectedF
from tagcore.labelling.rules import rule_names
from tagcore.metrics.evaluate_model import evaluate
from tagcore.metrics.evaluation import Evaluation
from tagcore.metrics.intervals import bootstrap_ratio
from tagcore.metrics.rule_quality import evaluate_rules, true_f1
from tagcore.scoring import sharded
from tagcore.scoring.sharded import ShardedScores
from tests.tagcore.metrics.problems import blocks_of, truth_and_scores

THETA = np.array([0.2, 0.5, 0.8])


class Fixed:
    """Rows are its scores, which it gives a few at a time."""

    def __init__(self, scores, step=3):
        self.scores = np.asarray(scores, float)
        self.step = step

    def score_blocks(self, X):
        return blocks_of(X.toarray(), self.step)()

    def proba(self, scores):
        return expit(scores)


class Able(Fixed):
    """Has thresholds, and is sure of nothing: every sample gives half of the rows each label."""

    def __init__(self, scores, thresholds, step=3):
        super().__init__(scores, step)
        self.thresholds = thresholds

    def expected_f(self, X):
        n, n_labels = self.scores.shape
        grid = np.tile(ndtri(THETA), (n_labels, 1))
        counts = (self.scores[:, :, None] > grid).sum(axis=0)
        drawn = np.random.default_rng(0).integers(0, n + 1, (n_labels, 2))
        both = np.minimum(drawn[:, :, None], counts[:, None, :]) // 2
        return ExpectedF(grid, both, drawn, counts)


def measure(model, truth, rules, rates=None):
    """The quality of labels by the model's own scores."""
    truth = sp.csr_matrix(truth)
    scores = ShardedScores(model, InMemory(sp.csr_matrix(model.scores), truth))
    return evaluate_rules(scores, model, truth, model.scores[truth.nonzero()], rules, rates)


def quality(truth, labels):
    """micro and macro, by the definitions; 0 where nothing is to be divided by."""
    tp, given_labels, true = (m.sum(axis=0).astype(float) for m in (truth * labels, labels, truth))
    found = {}
    for average, pooled in (("micro", True), ("macro", False)):
        t, g, y = (np.array([c.sum()]) if pooled else c for c in (tp, given_labels, true))
        found[f"{average}_precision"] = np.mean(t / np.maximum(g, 1))
        found[f"{average}_recall"] = np.mean(t / np.maximum(y, 1))
        found[f"{average}_f1"] = np.mean(2 * t / np.maximum(g + y, 1))
    return found


@given(truth_and_scores(max_rows=20), st.integers(1, 6), st.integers(1, 6), st.data())
def test_every_rule_equals_counting_by_hand(problem, step, shards, data):
    counts, scores = problem
    n, n_labels = scores.shape
    truth = (counts > 0).astype(int)
    rates = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n_labels, max_size=n_labels)))
    thresholds = np.array(
        data.draw(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, np.inf]), min_size=n_labels, max_size=n_labels))
    )
    model = Able(scores, thresholds, step)
    expected_f = model.expected_f(None)
    mass = np.zeros_like(truth)
    for label, rate in enumerate(rates):
        mass[np.argsort(-scores[:, label], kind="stable")[: round(rate * n)], label] = 1
    labels = {
        "half": expit(scores) > 0.5,
        "class-mass": mass,
        "thresholds": scores > thresholds,
        "sampled": scores > expected_f.best(),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharded, "_AT_LEAST", ((shards, 1),))
        found = measure(model, truth, rule_names(), rates)
    known = rates > 0 if rates.any() else np.ones(n_labels, bool)  # macro is of the tags that training had
    for line in found.table.to_pylist():
        given_labels = np.asarray(labels[line["rule"]], int)
        assert line["labels"] == given_labels.sum()
        pooled, per_label = quality(truth, given_labels), quality(truth[:, known], given_labels[:, known])
        expected = {k: (per_label if k.startswith("macro") else pooled)[k] for k in pooled}
        assert {k: line[k] for k in expected} == pytest.approx(expected)
        assert found.tallies[line["rule"]].macro().f1 == line["macro_f1"]
        part, whole = found.tallies[line["rule"]].micro_f1()
        assert part.sum() == pytest.approx(line["micro_f1"] * whole.sum())
        np.testing.assert_array_equal(part, 2 * (truth * given_labels).sum(axis=1))


@given(truth_and_scores(max_rows=20))
def test_true_f1_of_a_grid_of_thresholds(problem):
    counts, scores = problem
    grid = np.tile([-np.inf, -2.5, 0.0, 0.5, np.inf], (scores.shape[1], 1))
    above = (scores[:, :, None] > grid).sum(axis=0)
    truth = sp.csr_matrix(counts)
    found = true_f1(truth, scores[truth.nonzero()], ExpectedF(grid, above[:, None], above[:, :1], above))
    for label in range(scores.shape[1]):
        for g in range(5):
            expected = quality(counts[:, [label]] > 0, scores[:, [label]] > grid[label, g])["micro_f1"]
            assert found[label, g] == pytest.approx(expected)


def test_the_curve_of_expected_f():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(50, 6))
    truth = sp.csr_matrix(scores + rng.normal(size=(50, 6)) > 1)
    model = Able(scores, np.zeros(6))
    found = measure(model, truth, ["sampled"]).expected_f
    expected = model.expected_f(None)
    np.testing.assert_allclose(found["theta"], THETA)
    np.testing.assert_allclose(found["expected"], expected.expected().mean(axis=0))
    for g, theta in enumerate(THETA):
        macro = f1_score(truth.toarray(), ndtr(scores) > theta, average="macro", zero_division=0)
        assert found["true"][g].as_py() == pytest.approx(macro)
    assert sum(found["tags"].to_pylist()) == 6
    assert measure(model, truth, ["half"]).expected_f.num_rows == 0


def test_a_rule_that_a_model_cannot_follow_is_left_empty():
    scores, truth = np.array([[1.0, -1.0], [-1.0, 1.0]]), sp.csr_matrix(np.eye(2))
    found = measure(Fixed(scores), truth, ["thresholds", "half", "sampled"])
    assert found.table["rule"].to_pylist() == ["thresholds", "half", "sampled"]
    assert found.table["labels"].to_pylist() == [None, 2, None]
    assert found.table["macro_f1"].to_pylist() == [None, 1.0, None]
    assert list(found.tallies) == ["half"]
    assert found.expected_f.num_rows == 0


def test_no_rule_walks_no_scores():
    class Unasked(Fixed):
        def score_blocks(self, X):
            raise AssertionError

    assert measure(Unasked(np.eye(2)), np.eye(2), []).table.num_rows == 0


def test_mistakes_are_named():
    model, truth = Fixed(np.zeros((2, 2))), sp.csr_matrix(np.eye(2))
    with pytest.raises(ValueError, match="no labelling rule 'best'; there are half, class-mass, thresholds, sampled"):
        evaluate(model, sp.csr_matrix(np.eye(2)), truth, labelling=["best"])
    with pytest.raises(ValueError, match="class-mass needs train_counts and train_documents"):
        evaluate(model, sp.csr_matrix(np.eye(2)), truth, labelling=["class-mass"])


def test_an_evaluation_holds_and_stores_them(tmp_path):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(40, 5))
    truth = sp.csr_matrix(scores + rng.normal(size=(40, 5)) > 0.5)
    model = Able(scores, np.full(5, 0.3))
    trained = {"train_counts": np.arange(1, 6), "train_documents": 20}
    evaluation = evaluate(model, sp.csr_matrix(scores), truth, labelling=rule_names(), **trained)
    plain = evaluate(model, sp.csr_matrix(scores), truth, **trained)
    assert evaluation.summary.keys() - plain.summary.keys() == {
        f"{average}-F1 ({rule})" for average in ("micro", "macro") for rule in rule_names()
    }
    assert {name: evaluation.summary[name] for name in plain.summary if not math.isnan(plain.summary[name].low)} == {
        name: m for name, m in plain.summary.items() if not math.isnan(m.low)
    }
    labels = scores > 0.3
    true = truth.toarray()
    part, whole = 2 * (labels & true).sum(axis=1), labels.sum(axis=1) + true.sum(axis=1)
    assert evaluation.summary["micro-F1 (thresholds)"] == bootstrap_ratio(part, whole)
    assert math.isnan(evaluation.summary["macro-F1 (thresholds)"].low)
    evaluation.save(tmp_path / "e")
    back = Evaluation.load(tmp_path / "e")
    assert back.labelling.equals(evaluation.labelling)
    assert back.expected_f.equals(evaluation.expected_f)
