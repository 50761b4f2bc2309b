"""The whole evaluation of a model against scikit-learn on dense arrays, on odd test sets, and through a folder."""

import json
import math

import numpy as np
import pyarrow.compute as pc
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.metrics import (
    coverage_error,
    f1_score,
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
    ndcg_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.features.rows import InMemory
from tagcore.labelling.rules import rule_names
from tagcore.metrics.evaluate_model import evaluate
from tagcore.metrics.evaluation import Evaluation
from tagcore.metrics.intervals import bootstrap_interval, bootstrap_ratio
from tagcore.metrics.kendall import kendall_at
from tagcore.metrics.propensity import propensities, propensity_hits
from tagcore.models import BMLPL, BOMC
from tagcore.scoring import sharded
from tagcore.shards import InProcess
from tests.problems import noisy
from tests.tagcore.metrics.problems import ranking


class Linear:
    """Scores X W, three rows at a time."""

    def __init__(self, W):
        self.W = W

    def top_k(self, X, k):
        top = ranking(X @ self.W, k)
        return top, np.take_along_axis(X @ self.W, top, axis=1)

    def score_blocks(self, X):
        for start in range(0, X.shape[0], 3):
            yield slice(start, start + 3), X[start : start + 3] @ self.W

    def proba(self, scores):
        return expit(scores)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    W, X = rng.normal(size=(6, 20)), rng.normal(size=(40, 6))
    counts = rng.integers(1, 4, size=(40, 20)) * (X @ W + rng.normal(size=(40, 20)) > 2)
    counts[3], counts[:, 7] = 0, 0
    return Linear(W), sp.csr_matrix(X), sp.csr_matrix(counts)


@pytest.fixture(scope="module")
def evaluation(problem):
    names = [f"tag {i}" for i in range(20)]
    return evaluate(*problem, tag_names=names, train_counts=np.arange(20), train_documents=50)


def test_measures_equal_scikit_learn(problem, evaluation):
    model, X, Y = problem
    truth, scores = (Y.toarray() > 0).astype(int), X @ model.W
    tagged, seen = truth.any(axis=1), truth.any(axis=0)
    five = np.zeros_like(truth)
    np.put_along_axis(five, ranking(scores, 5), 1, axis=1)
    right = np.take_along_axis(truth, ranking(scores, 10), axis=1)
    summary = evaluation.summary
    expected = {
        "P@1": right[:, 0].mean(),
        "P@10": right.mean(),
        "R@5": (right[:, :5].sum(axis=1)[tagged] / truth[tagged].sum(axis=1)).sum() / len(truth),
        "nDCG@3": ndcg_score(truth, scores, k=3),
        "F1@5": f1_score(truth, five, average="samples", zero_division=0),
        "acc@3": right[:, :3].any(axis=1).mean(),
        "MAP@5": np.mean(
            [
                sum(row[: place + 1].mean() for place in np.flatnonzero(row[:5])) / np.clip(tags, 1, 5)
                for row, tags in zip(right, truth.sum(axis=1), strict=True)
            ]
        ),
        "AUC (row)": roc_auc_score(truth[tagged], scores[tagged], average="samples"),
        "AUC (macro)": roc_auc_score(truth[:, seen], scores[:, seen], average="macro"),
        "AUC (micro)": roc_auc_score(truth, scores, average="micro"),
        "LRAP": label_ranking_average_precision_score(truth, scores),
        "coverage": coverage_error(truth, scores),
        "ranking loss": label_ranking_loss(truth, scores),
        "one-error": 1 - right[:, 0].mean(),
        "Hamming loss@5": hamming_loss(truth, five),
        **{
            f"{average}-{name}@5": score(truth, five, average=average, zero_division=0)
            for average in ("micro", "macro")
            for name, score in (("P", precision_score), ("R", recall_score), ("F1", f1_score))
        },
    }
    assert {name: summary[name].value for name in expected} == pytest.approx(expected, abs=1e-12)
    names = ("P", "R", "F1", "nDCG", "acc", "MAP", "exact", "tag recall", "Kendall", "PSP", "PSnDCG")
    every = {f"{name}@{k}" for name in names for k in (1, 3, 5, 10)}
    assert summary.keys() == every | expected.keys() | {"ECE"}


def test_propensity_scored_measures(problem, evaluation):
    model, X, Y = problem
    hits = propensity_hits(Y, model.top_k(X, 10)[0], propensities(np.arange(20), 50))
    assert evaluation.summary["PSP@3"] == bootstrap_ratio(*hits.precision(3))
    assert evaluation.summary["PSnDCG@5"] == bootstrap_ratio(*hits.ndcg(5))
    for lacking in ({}, {"train_counts": np.arange(20)}, {"train_documents": 50}):
        assert "PSP@1" not in evaluate(*problem, **lacking).summary


def test_intervals_are_those_of_single_documents(evaluation):
    for name in ("P@5", "nDCG@10", "AUC (row)"):
        assert evaluation.summary[name] == bootstrap_interval(evaluation.per_document[name].to_numpy())
    micro = evaluation.summary["micro-F1@5"]
    assert micro.low < micro.value < micro.high
    for name in ("AUC (macro)", "AUC (micro)", "macro-F1@5", "ECE"):
        assert math.isnan(evaluation.summary[name].low)


def test_counts_say_what_was_left_out(evaluation):
    counts = evaluation.counts
    assert (counts.documents, counts.untagged_documents, counts.documents_without_auc) == (40, 1, 1)
    assert (counts.tags, counts.tags_in_test, counts.tags_in_train, counts.tags_without_auc) == (20, 19, 19, 1)
    assert np.isnan(evaluation.per_document["AUC (row)"].to_numpy()).nonzero()[0].tolist() == [3]


def test_tables(problem, evaluation):
    assert evaluation.per_document["document"].to_pylist() == list(range(40))
    assert evaluation.per_tag["tag"].to_pylist()[:2] == ["tag 0", "tag 1"]
    assert evaluation.per_tag["train_count"].to_pylist() == list(range(20))
    assert sum(evaluation.per_tag["predicted"].to_pylist()) == 40 * 5
    assert evaluation.curve["k"].to_pylist() == list(range(1, 11))
    for column, name in (("precision", "P"), ("recall", "R"), ("ndcg", "nDCG")):
        assert evaluation.curve[column].to_pylist()[4] == evaluation.summary[f"{name}@5"].value
    model, X, Y = problem
    assert evaluation.curve["kendall"].to_pylist()[8] == kendall_at(Y, model.top_k(X, 9)[0], 9).mean() > 0
    assert evaluation.curve["exact"].to_pylist()[0] == evaluation.summary["P@1"].value
    assert evaluation.curve["tag_recall"].to_pylist()[4] == evaluation.summary["micro-R@5"].value
    assert evaluation.breakdown["group"].to_pylist() == ["head", "torso", "tail", "unseen"]
    assert sum(evaluation.breakdown["predicted"].to_pylist()) == 40 * 5
    nine = evaluation.histogram.filter(pc.equal(evaluation.histogram["k"], 9)).to_pydict()
    assert nine["correct"] == list(range(10))
    assert np.average(nine["correct"], weights=nine["documents"]) == pytest.approx(
        9 * evaluation.curve["precision"].to_pylist()[8]
    )
    reliability = evaluation.reliability.to_pydict()
    for strategy in ("width", "mass"):
        assert (
            sum(c for c, s in zip(reliability["count"], reliability["strategy"], strict=True) if s == strategy) == 200
        )


def test_progress_is_told(problem):
    told = []
    evaluate(*problem, progress=lambda done, total, known: told.append((done, total, sorted(known))))
    assert [(done, total) for done, total, _ in told] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert "ECE" in told[-1][2]


@pytest.mark.parametrize("kept", [0, sharded.KEPT_CELLS], ids=["asked again", "kept"])
@pytest.mark.parametrize(
    "model",
    [
        KNN(),
        OneVsRestLinear(),
        BOMC.published(),
        BOMC.published("independent", threshold_grid="quantile"),
        BMLPL(4, max_iter=3),
    ],
)
def test_the_same_bits_on_any_executor(model, kept, monkeypatch, tmp_path):
    """in several shards; and the same values in one."""
    X, Y = noisy(n=300, tags=40)
    model.fit(X, Y)
    asked = {"labelling": rule_names(), "train_counts": np.asarray((Y > 0).sum(axis=0)).ravel(), "train_documents": 300}
    whole = _single(model, X, Y, **asked)
    monkeypatch.setattr(sharded, "KEPT_CELLS", kept)
    found = []
    for threads in (1, 3):
        evaluation = evaluate(model, InMemory(X, Y), **asked, executor=InProcess(threads))
        evaluation.save(tmp_path / str(threads))
        found.append({p.name: p.read_bytes() for p in (tmp_path / str(threads)).iterdir()})
        assert {n: m.value for n, m in evaluation.summary.items()} == pytest.approx(
            {n: m.value for n, m in whole.summary.items()}, abs=1e-12, nan_ok=True
        )
        assert evaluation.labelling.equals(whole.labelling)
    assert found[0] == found[1]


def _single(model, X, Y, **asked):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharded, "_AT_LEAST", ((1, 1), (1, 1)))
        return evaluate(model, X, Y, **asked)


def test_a_folder_gives_it_back(evaluation, tmp_path):
    evaluation.save(tmp_path / "e")
    back = Evaluation.load(tmp_path / "e")
    assert repr(back.summary) == repr(evaluation.summary)
    assert list(back.summary) == list(evaluation.summary)
    assert back.counts == evaluation.counts
    for name in ("per_tag", "breakdown", "histogram", "reliability", "curve"):
        assert getattr(back, name).equals(getattr(evaluation, name))
    for name in evaluation.per_document.column_names:
        np.testing.assert_array_equal(back.per_document[name], evaluation.per_document[name])
    json.loads((tmp_path / "e" / "evaluation.json").read_text(), parse_constant=pytest.fail)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("evaluation.json", None, "FileNotFoundError"),
        ("evaluation.json", "{", "Expecting property name"),
        ("evaluation.json", "[]", "list indices"),
        ("evaluation.json", '{"format": 1}', "format 1, this version reads 4"),
        ("evaluation.json", '{"format": 4}', "of"),
        ("curve.parquet", None, "FileNotFoundError"),
        ("per_tag.parquet", "PAR1", "Parquet"),
    ],
)
def test_a_damaged_folder_is_named(evaluation, tmp_path, file, content, message):
    evaluation.save(tmp_path)
    (tmp_path / file).unlink()
    if content is not None:
        (tmp_path / file).write_text(content)
    with pytest.raises(ValueError, match=f"{file}: not part of a stored evaluation.*{message}"):
        Evaluation.load(tmp_path)


@pytest.mark.parametrize("n_labels", [1, 2, 4])
def test_fewer_tags_than_k(n_labels):
    truth = np.zeros((3, n_labels))
    truth[0, 0] = 1
    evaluation = evaluate(Linear(np.ones((1, n_labels))), sp.csr_matrix(np.ones((3, 1))), truth).summary
    assert evaluation["P@10"].value == pytest.approx(1 / 30)
    assert evaluation["R@10"].value == evaluation["nDCG@10"].value == evaluation["acc@10"].value == pytest.approx(1 / 3)
    assert evaluation["micro-F1@5"].value == pytest.approx(2 / (3 * n_labels + 1))
    if n_labels == 1:
        assert math.isnan(evaluation["AUC (row)"].value)


def test_one_document_and_no_true_tag_at_all():
    model, X = Linear(np.ones((2, 12))), sp.csr_matrix([[1.0, 2.0]])
    one = evaluate(model, X, sp.csr_matrix(np.eye(1, 12)))
    assert one.summary["P@1"].value == 1
    assert math.isnan(one.summary["P@1"].low)
    none = evaluate(model, X, sp.csr_matrix((1, 12)))
    assert none.summary["nDCG@5"].value == none.summary["micro-F1@5"].value == 0
    assert none.counts.untagged_documents == 1


def test_ks_are_free(problem):
    evaluation = evaluate(*problem, ks=(12, 2, 2))
    assert {"P@2", "P@12"} <= evaluation.summary.keys()
    assert "P@1" not in evaluation.summary
    assert evaluation.curve.num_rows == 10


def test_what_cannot_be_measured_is_named(problem):
    model, X, Y = problem
    with pytest.raises(ValueError, match="the test set has no documents"):
        evaluate(model, X[:0], Y[:0])
    with pytest.raises(ValueError, match="X has 40 rows, y has 39"):
        evaluate(model, X, Y[:39])
    with pytest.raises(ValueError, match=r"ks is \(0,\)"):
        evaluate(model, X, Y, ks=(0,))
    with pytest.raises(ValueError, match=r"ks is \(\)"):
        evaluate(model, X, Y, ks=())
    with pytest.raises(ValueError, match="names has 3 entries"):
        evaluate(model, X, Y, tag_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="expected 21 columns"):
        evaluate(model, X, sp.hstack([Y, Y[:, :1]]).tocsr())
    model = Linear(np.where(model.W > 3, model.W, np.inf))
    with pytest.raises(ValueError, match="the score of row 0, label 0 is"):
        evaluate(model, X, Y)


def test_accuracies_of_the_first_and_of_each_suggestion_go_together(problem):
    """Test 15 of the specification of PMM."""
    evaluation = evaluate(*problem, ks=range(1, 10))
    value = {name: estimate.value for name, estimate in evaluation.summary.items()}
    assert (np.diff([value[f"acc@{k}"] for k in range(1, 10)]) >= 0).all()
    assert value["P@1"] == value["acc@1"] == value["exact@1"]
    counts = {row["correct"]: row["documents"] for row in evaluation.histogram.to_pylist() if row["k"] == 9}
    mean = sum(right * documents for right, documents in counts.items()) / sum(counts.values())
    assert sum(value[f"exact@{k}"] for k in range(1, 10)) == pytest.approx(mean, abs=1e-12)
    assert value["P@9"] == pytest.approx(mean / 9, abs=1e-12)
    assert evaluation.summary["tag recall@9"].low < value["tag recall@9"] < evaluation.summary["tag recall@9"].high
    assert evaluation.curve["tag_recall"].to_pylist()[8] == value["tag recall@9"]


def test_single_documents_are_timed_where_that_is_asked_for(problem):
    timed = evaluate(*problem, timed=30).summary
    assert 0 < timed["µs p50"].low <= timed["µs p50"].value <= timed["µs p99"].value <= timed["µs p99"].high
    assert timed["µs mean"].value > 0
