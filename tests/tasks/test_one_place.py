"""A measure or a labelling rule that is added in its one place is found wherever measures and rules are asked for."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from infra.cli.console import Console
from tagcore.baselines import Popular
from tagcore.corpus import Corpus
from tagcore.features.build import VECTORISER, make_features
from tagcore.features.rows import StoredRows
from tagcore.features.split import Split
from tagcore.labelling import rules
from tagcore.labelling.rules import LabellingRule
from tagcore.metrics import catalogue
from tagcore.metrics.evaluate_model import evaluate
from tagcore.metrics.held_out import held_out_values
from tagcore.metrics.measure import Measure
from tagcore.store.datasets import Dataset
from tagcore.synthetic.corpus import demo_corpus
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tasks.evaluate import signed_value
from tasks.recipe_settings import MeasureSettings, TuningSettings
from tasks.registry.model_card import tagger_card
from tasks.reporting.report import _compare
from tests.tagcore.metrics.test_rule_quality import Fixed
from tests.tasks.reporting.test_summary import TRUTH, measured

SCORES = TRUTH.toarray() + np.random.default_rng(3).normal(size=TRUTH.shape)
CARD = {
    "calibration": "x",
    "train_documents": 3,
    "words": 4,
    "seconds": 0.1,
    "seed": 0,
    "features": "f",
    "model": "m",
}


@pytest.fixture
def toy_measure(monkeypatch):
    """A measure that is an entry of the catalogue and nothing else: 0 where a tag of the first k is right, else -1."""
    places = ("report", "report picture", "model card")
    toy = Measure(
        "toy", "suggestions", lambda hits, k: hits.accuracy(k) - 1, "every k", "champion", shown=places, shown_at=(3,)
    )
    monkeypatch.setattr(catalogue, "MEASURES", (*catalogue.MEASURES, toy))


def test_a_measure_is_in_evaluations_reports_cards_and_recipes(toy_measure, tmp_path):
    evaluation = evaluate(Fixed(SCORES), sp.csr_matrix(SCORES), TRUTH)
    assert evaluation.summary["toy@3"].value == pytest.approx(evaluation.summary["acc@3"].value - 1)
    assert evaluation.summary["toy@3"].low < evaluation.summary["toy@3"].high
    assert "toy@10" in evaluation.per_document.column_names
    assert "\n| toy@3 | -0." in tagger_card("KNN", "demo", CARD, evaluation)

    entries = [measured(tmp_path, label, 0, 0, scores) for label, scores in (("able", SCORES), ("poor", -SCORES))]
    report, _ = _compare("t", entries, "toy@3", tmp_path / "report", "key")
    assert "toy@3" in report.columns
    assert [row.model for row in report.rows] == ["able", "poor"]
    assert signed_value(entries[0].evaluation, "toy@3") > signed_value(entries[1].evaluation, "toy@3")

    assert MeasureSettings(primary="toy@5").primary == "toy@5"
    with pytest.raises(ValueError, match=r"expected one of P@1, .*toy@10"):
        MeasureSettings(primary="toy@4")


def test_a_measure_may_choose_a_champion(toy_measure, tmp_path):
    source, split = demo_corpus(200), Split(test=0.4)
    (block,) = source.blocks(rows=200)
    Corpus(block.documents, block.taggings, list(source.tags)).save(tmp_path / "corpus", rows_per_group=64)
    corpus = Dataset.open(tmp_path / "corpus", "corpus")
    make_features(corpus, tmp_path / "features", Vectoriser(), split, parameters={"split": vars(split)})
    features = Dataset.open(tmp_path / "features", "features")
    rows = StoredRows.open(features.folder, "train")
    model = Popular().fit(*rows.load(slice(0, rows.n_rows)))
    tagger = Tagger(Vectoriser.load(features.folder / VECTORISER), model, features.names("tags"))
    stored = held_out_values(tagger, corpus, features, "toy@2")
    np.testing.assert_array_equal(stored, held_out_values(tagger, corpus, features, "acc@2") - 1)


def test_a_rule_is_in_evaluations_reports_recipes_and_on_the_console(monkeypatch, tmp_path, capsys):
    everything = LabellingRule("all", "nothing", lambda inputs: {}, lambda part, first, scores, settled: scores > -1e9)
    monkeypatch.setattr(rules, "RULES", (*rules.RULES, everything))
    evaluation = evaluate(Fixed(SCORES), sp.csr_matrix(SCORES), TRUTH, labelling=["half", "all"])
    assert evaluation.labelling["labels"].to_pylist()[1] == SCORES.size
    assert evaluation.labelling["micro_recall"].to_pylist()[1] == 1
    assert evaluation.summary["micro-F1 (all)"].value > 0
    assert "\n| all | " in tagger_card("KNN", "demo", CARD, evaluation)

    report, _ = _compare("t", [measured(tmp_path, "able", 0, 0, SCORES)], "P@1", tmp_path / "report", "key")
    assert report.columns[-2:] == ["macro-F1 (all)", "micro-F1 (all)"]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "300")
    Console().table(report)
    ranked, labelled = capsys.readouterr().out.split("labels by rule")
    assert "(all)" in labelled
    assert "(all)" not in ranked

    assert MeasureSettings(labelling=["all"]).labelling == ["all"]
    assert TuningSettings(measure="macro-F1 (all)").rule == "all"
