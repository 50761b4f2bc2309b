"""Measures of classifiers against scikit-learn's."""

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss

from tagcore.baselines import IVM, KernelSVM
from tagcore.features.class_split import ClassSide
from tagcore.metrics.catalogue import champion_measure, primary_names
from tagcore.metrics.evaluate_classes import evaluate_classes
from tagcore.metrics.evaluation import Evaluation
from tests.tagcore.test_class_model import blobs


def test_error_and_log_loss_are_those_of_scikit_learn(tmp_path):
    X, y = blobs(seed=4)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    fitted = KernelSVM().fit(*blobs())
    found = evaluate_classes(fitted, ClassSide(X, y), train_seconds=2.5)
    proba = fitted.predict_proba(X)
    assert found.summary["error %"].value == pytest.approx(100 * (1 - accuracy_score(y, fitted.predict(X))))
    assert 0 < found.summary["error %"].value < 100
    assert found.summary["error %"].low < found.summary["error %"].value < found.summary["error %"].high
    assert found.summary["log loss"].value == pytest.approx(log_loss(y, proba, labels=fitted.classes_))
    assert found.summary["train CPU s"].value == 2.5
    assert "log evidence" not in found.summary  # a machine without one
    found.save(tmp_path)
    back = Evaluation.load(tmp_path)
    assert back.summary["error %"] == found.summary["error %"]
    assert {name: m.value for name, m in back.summary.items()} == {name: m.value for name, m in found.summary.items()}
    assert back.per_unit.column_names == ["error %", "log loss"]
    assert (back.tested, back.HELD_OUT, back.UNITS) == (60, "rows", "rows")
    assert back.per_row["predicted"].to_pylist() == fitted.predict(X).tolist()


def test_evidence_is_told_and_unknown_times_are_not():
    fitted = IVM(search_steps=0).fit(*blobs())
    summary = evaluate_classes(fitted, ClassSide(*blobs(seed=1))).summary
    assert summary["log evidence"].value == fitted.log_evidence_
    assert "train CPU s" not in summary
    assert math.isnan(summary["log evidence"].low)


def test_a_class_that_training_did_not_have_is_wrong_and_as_unlikely_as_can_be():
    fitted = KernelSVM().fit(*blobs())
    found = evaluate_classes(fitted, ClassSide(np.zeros((2, 2)), np.array(["zucchini", "fig"])))
    assert found.per_row["error %"].to_pylist() == [100.0, 0.0]
    assert found.per_row["log loss"][0].as_py() == pytest.approx(-np.log(np.finfo(float).eps))
    assert found.counts.rows_of_new_classes == 1


def test_classifiers_are_ranked_and_have_no_champion():
    assert primary_names([1], "classes") == ["error %", "log loss"]
    with pytest.raises(ValueError, match="models that learn from classes have no champion"):
        champion_measure("error %", "classes")
