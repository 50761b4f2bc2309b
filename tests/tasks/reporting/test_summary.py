"""Lines of tables, curves and topics: what seeds are averaged over, and what people get to read."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.special import ndtri

from tagcore.labelling.expected_f import ExpectedF
from tagcore.labelling.rules import rule_names
from tagcore.metrics.evaluate_model import evaluate
from tagcore.metrics.intervals import Estimate
from tagcore.models.topics import Topic
from tagcore.store.datasets import write_dataset
from tasks.registry.model_card import tagger_card
from tasks.registry.tracking import EvaluatedModel
from tasks.reporting.comparison import Report
from tasks.reporting.curves import Curves, Point
from tasks.reporting.report import _about, _compare
from tasks.reporting.summary import summarise_models
from tasks.reporting.topics import SHOWN, topics_markdown
from tests.tagcore.metrics.test_rule_quality import Able, Fixed

TRUTH = sp.csr_matrix(np.random.default_rng(9).random((30, 6)) < 0.3)
SEEN = {"train_counts": np.arange(1, 7), "train_documents": 12}


def measured(folder, label, seed, split, scores):
    """A stored evaluation of fixed scores, as training and measuring would leave it."""
    places = [folder / f"{label} {seed} {kind}" for kind in ("model", "evaluation")]
    head = {"model": label, "params": {}, "calibrate": None, "seed": seed}
    with write_dataset(places[0], "model", parameters=head, inputs={"features": f"{split}"}) as writer:
        (writer.folder / "model").mkdir()
        (writer.folder / "model" / "model.json").write_text(json.dumps({"class": "Popular"}))
    model = Able(scores, np.zeros(6)) if label == "able" else Fixed(scores)
    with write_dataset(places[1], "evaluation", parameters={"label": label, "seed": seed}) as writer:
        evaluate(model, sp.csr_matrix(scores), TRUTH, labelling=rule_names(), **SEEN).save(writer.folder)
    return EvaluatedModel(label, *places, folder / f"features {split}", seed)


@pytest.fixture
def found(tmp_path):
    rng = np.random.default_rng(3)
    good = [TRUTH.toarray() + rng.normal(size=(30, 6)) for _ in range(3)]
    poor = [rng.normal(size=(30, 6)) for _ in range(3)]
    return lambda redraw: [
        measured(tmp_path, label, seed, seed if redraw else 0, scores[seed])
        for seed in range(3)
        for label, scores in (("poor", poor), ("able", good))
    ]


def summaries(found, label, name):
    from tagcore.metrics.evaluation import Evaluation

    return [Evaluation.load(m.evaluation).summary[name].value for m in found if m.label == label]


def test_seeds_on_one_split_have_intervals_over_documents_and_macro_measures_over_seeds(found):
    entries = found(redraw=False)
    best, worst = summarise_models(entries, "nDCG@5")
    assert (best.label, best.seeds, best.splits, best.tested) == ("able", 3, 1, (30, 30))
    assert best.values["nDCG@5"].shape == (30,)
    for name in ("macro-F1@5", "macro-F1 (sampled)", "micro-F1 (half)"):
        values = summaries(entries, "able", name)
        low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
        assert (best.summary[name].low, best.summary[name].high) == pytest.approx((low, high))
    assert best.summary["nDCG@5"].value == pytest.approx(np.mean(summaries(entries, "able", "nDCG@5")))
    assert "macro-F1 (sampled)" not in worst.summary
    assert worst.to_best(best, "nDCG@5")["difference"] < 0


def test_seeds_with_a_split_each_have_every_interval_over_splits(found):
    entries = found(redraw=True)
    best, worst = summarise_models(entries, "nDCG@5")
    assert (best.splits, best.values["nDCG@5"].shape) == (3, (3,))
    ours, theirs = (summaries(entries, label, "nDCG@5") for label in ("able", "poor"))
    low, high = stats.t.interval(0.95, 2, np.mean(ours), stats.sem(ours))
    assert (best.summary["nDCG@5"].low, best.summary["nDCG@5"].high) == pytest.approx((low, high))
    test = stats.ttest_rel(theirs, ours)
    interval = test.confidence_interval(0.95)
    to_best = worst.to_best(best, "nDCG@5")
    expected = (np.mean(theirs) - np.mean(ours), interval.low, interval.high, test.pvalue)
    assert tuple(to_best[k] for k in ("difference", "low", "high", "p_value")) == pytest.approx(expected)


def test_a_report_says_what_intervals_are_over_and_leaves_empty_what_was_not_followed(found, tmp_path):
    entries = found(redraw=False)
    made, files = _compare("t", entries, "nDCG@5", tmp_path / "r", "key")
    assert "30 held-out documents, 3 seeds" in made.about
    assert "over seeds (Student's t)" in made.about
    cells = dict(zip(made.head(), made.cells()[1], strict=True))
    assert cells["model"] == "poor"
    assert cells["macro-F1 (half)"].startswith("0.")
    assert cells["macro-F1 (sampled)"] == cells["micro-F1 (thresholds)"] == ""
    assert "thresholds s" not in made.head()
    assert {p.name for p in files} == {"report.md", "report.json", "comparison.png", "reliability.png"}
    assert all(p.is_file() for p in files)
    timed = replace(made, rows=[replace(made.rows[0], threshold_seconds=1.23), made.rows[1]])
    assert [row[-1] for row in timed.cells()] == ["1.2", ""]
    assert isinstance(made, Report)
    one = summarise_models([m for m in entries if m.seed == 0], "nDCG@5")
    assert _about(one, "P@1") == "30 held-out documents; 95 % intervals over documents; best first by P@1."


@pytest.mark.parametrize("redraw", [False, True])
def test_two_seeds_are_said_to_be_two_instead_of_an_interval(found, tmp_path, redraw):
    entries = [entry for entry in found(redraw) if entry.seed < 2]
    made, _ = _compare("t", entries, "nDCG@5", tmp_path / "r", "key")
    assert "two seeds" in made.about
    assert "Student" not in made.about
    best, worst = (dict(zip(made.head(), cells, strict=True)) for cells in made.cells())
    value = np.mean(summaries(entries, "able", "macro-F1@5"))
    assert best["macro-F1@5"] == f"{value:.3f} (two seeds)"
    assert best["nDCG@5"].endswith("(two seeds)") == redraw
    assert worst["nDCG@5 to best"].endswith("(two seeds)") == redraw
    assert best["nDCG@5 to best"] == "best"
    assert "low" not in made.rows[0].measures["macro-F1@5"]


def test_curves_are_tables_of_lines_and_values(tmp_path):
    points = [
        Point("a", 200, {"P@1": {"value": 0.5, "low": 0.4, "high": 0.6}}),
        Point("a", 100, {"P@1": {"value": 0.3}, "macro-F1 (half)": {"value": 0.1}}),
        Point("b", 200, {"P@1": {"value": 0.7}}),
    ]
    curves = Curves("t", "split.train_documents", ["P@1", "macro-F1 (half)"], points, str(tmp_path))
    assert list(curves.lines("P@1")["a"]) == [100, 200]
    assert curves.lines("P@1")["a"][200] == Estimate(0.5, 0.4, 0.6)
    assert list(curves.lines("macro-F1 (half)")) == ["a"]
    text = curves.markdown()
    assert "| P@1 at split.train_documents | 100 | 200 |" in text
    assert "| a | 0.300 | 0.500 (0.400–0.600) |" in text
    assert "| b |  | 0.700 |" in text
    assert "| a | 0.100 |  |" in text


def test_topics_are_tables_of_tags():
    topics = [Topic(i, 1 / (i + 1), ("a|b", f"tag {i}"), (0.5, 0.25)) for i in range(SHOWN + 3)]
    text = topics_markdown(topics)
    assert text.count("\n| ") == SHOWN
    assert "| 1 | a\\|b 0.50, tag 0 0.25 |" in text
    assert f"heaviest of {SHOWN + 3} topics" in text


def test_topics_of_a_graph_are_told_all_with_words_documents_and_ncut():
    topics = [
        Topic(i, 0.1, ("a|b",), (0.5,), words=("x", "y"), documents=1234, ncut=0.25 if i else None)
        for i in range(SHOWN + 3)
    ]
    text = topics_markdown(topics)
    assert text.count("\n| ") == SHOWN + 3
    assert "| 0 | 1,234 |  | a\\|b 0.50 | x, y |" in text
    assert "| 1 | 1,234 | 0.250 | a\\|b 0.50 | x, y |" in text


def test_a_card_tells_of_rules_and_topics():
    scores = np.random.default_rng(0).normal(size=(30, 6))
    evaluation = evaluate(Fixed(scores), sp.csr_matrix(scores), TRUTH, labelling=["half", "sampled"])
    made = {
        "calibration": "platt calibration",
        "train_documents": 3,
        "words": 4,
        "seconds": 0.1,
        "seed": 0,
        "features": "f",
        "model": "m",
    }
    card = tagger_card("KNN", "demo", made, evaluation, [Topic(0, 2.0, ("cars",), (0.9,))])
    assert "| labels by | given | micro precision |" in card
    assert "\n| half | " in card
    assert "\n| sampled | " not in card
    assert "## Its topics" in card
    assert "| 2 | cars 0.90 |" in card
    plain = tagger_card("KNN", "demo", made, evaluate(Fixed(scores), sp.csr_matrix(scores), TRUTH))
    assert "labels by" not in plain
    told = re.search(r"Best known tags: (.+)\. Weakest of those tested at least five times: (.+)\.", plain)
    best, weakest = (set(names.split(", ")) for names in told.groups())
    assert len(best) == 5
    assert len(weakest) == 1
    assert not best & weakest
    assert "(calibrated probabilities of being right; platt calibration)" in plain
    bare = tagger_card("BOMC", "demo", made | {"calibration": "uncalibrated"}, evaluation)
    assert "are no probabilities of being right; uncalibrated" in bare
    assert "calibrated probabilities" not in bare
    assert "topics" not in plain


def test_pictures_of_expected_f_topics_and_curves(tmp_path):
    from tasks.reporting.plots import against_setting, draw_all

    scores = np.random.default_rng(0).normal(size=(30, 6))

    class Sampled(Fixed):
        def expected_f(self, X):
            counts = np.full((6, 3), 10)
            return ExpectedF(np.tile(ndtri([0.2, 0.5, 0.8]), (6, 1)), counts[:, None] // 2, np.full((6, 1), 9), counts)

    evaluation = evaluate(Sampled(scores), sp.csr_matrix(scores), TRUTH, labelling=["sampled"], **SEEN)
    drawn = draw_all(evaluation, tmp_path, [Topic(0, 2.0, ("$cars$", "_x"), (0.9, 0.1))])
    assert [p.name for p in drawn] == [
        "quality_at_k.png",
        "calibration.png",
        "tags.png",
        "expected_f.png",
        "topics.png",
    ]
    curves = {"P@1": {"_a $": {100.0: Estimate(0.1, 0.0, 0.2), 2000.0: Estimate(0.2)}}, "macro-F1 (half)": {}}
    drawn.append(against_setting(curves, "split.train_documents", tmp_path / "curves.png"))
    assert all(p.read_bytes()[:4] == b"\x89PNG" for p in drawn)
    plain = evaluate(Fixed(scores), sp.csr_matrix(scores), TRUTH, **SEEN)
    assert "expected_f.png" not in [p.name for p in draw_all(plain, tmp_path)]
