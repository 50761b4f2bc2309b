"""The catalogue: names that tell measures apart, directions, who decides, and what is shown where."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tagcore.labelling.rules import rule_names
from tagcore.metrics import catalogue
from tagcore.metrics.catalogue import (
    MEASURES,
    champion_measure,
    compute,
    find,
    primary_names,
    rule_of,
    shown_by_rule,
    shown_in,
    signed,
)
from tagcore.metrics.measure import Measure
from tagcore.metrics.ranking import Hits
from tagcore.metrics.ratings import rating_errors

KS = (1, 3, 5, 9, 10)


def full_names(measure):
    rules = rule_names() if measure.of == "rule" else (None,)
    return [measure.full_name(k, rule) for k in measure.ks(KS) for rule in rules]


def test_no_two_measures_have_one_name():
    names = [name for measure in MEASURES for name in full_names(measure)]
    assert len(set(names)) == len(names)
    columns = [measure.column for measure in MEASURES if measure.column]
    assert len(set(columns)) == len(columns)


def test_every_name_finds_its_measure():
    for measure in MEASURES:
        for name in full_names(measure):
            assert find(name)[0] is measure
    assert find("P@12")[1] == 12
    assert find("AUC (row)")[1] is None
    for name in ("P", "P@0", "P@x", "P@05", "AUC", "AUC (half)", "macro-F1", "macro-F1@3", "macro-F1 (row)", ""):
        with pytest.raises(ValueError, match=r"no measure .*there are P, nDCG, R"):
            find(name)


def test_less_is_better_of_losses_and_errors():
    less = ["coverage", "ranking loss", "one-error", "Hamming loss@5", "ECE"]
    less += ["µs p50", "µs p99", "µs mean", "training CPU s", "µs a document", "model MB", "working MiB"]
    less += ["error %", "log loss", "train CPU s", "test CPU s"]
    less += ["MAE", "RMSE", "MAE (new users)", "RMSE (new users)"]
    assert [name for m in MEASURES for name in full_names(m) if signed(name, 2.0) == -2.0] == less
    assert signed("P@1", 2.0) == 2.0
    np.testing.assert_array_equal(signed("MAE", np.array([1.0, 2.0])), [-1.0, -2.0])


def test_models_are_ranked_by_measures_of_single_documents():
    ranked = [f"{name}@{k}" for name in ("P", "nDCG", "R", "acc") for k in (1, 5)]
    assert primary_names([1, 5], "documents") == [*ranked, "AUC (row)"]
    assert primary_names([1, 5], "ratings") == [*ranked, "MAE", "RMSE"]
    assert primary_names([1, 5], "classes") == ["error %", "log loss"]


def test_a_champion_is_chosen_from_suggestions_alone_by_a_gain():
    measure = find("P@1")[0]
    for wrong in ({"of": "rankings"}, {"at": "suggested"}, {"lower_is_better": True}):
        with pytest.raises(ValueError, match="P decides on the champion: expected a measure of suggestions at every k"):
            replace(measure, **wrong)


def test_what_is_shown_where():
    report = ["P@1", "P@3", "P@5", "nDCG@5", "R@5", "acc@9", "AUC (row)", "AUC (macro)", "AUC (micro)", "macro-F1@5"]
    assert shown_in("report picture", "documents") == report
    assert shown_in("report", "documents") == [*report, "ECE"]
    of_items = ["nDCG@10", "R@20", "MAE", "RMSE", "MAE (new users)"]
    assert shown_in("report", "ratings") == shown_in("model card", "ratings") == of_items
    assert shown_in("report picture", "classes") == ["error %", "log loss"]
    of_classes = ["error %", "log loss", "log evidence", "train CPU s", "test CPU s"]
    assert shown_in("report", "classes") == of_classes
    card = ["P@1", "P@3", "P@5", "nDCG@5", "R@5", "AUC (row)", "micro-F1@5", "macro-F1@5", "ECE"]
    assert shown_in("model card", "documents") == card
    assert shown_by_rule("report")[:3] == ["macro-F1 (half)", "micro-F1 (half)", "macro-F1 (class-mass)"]
    assert len(shown_by_rule("report")) == 2 * len(rule_names())
    assert shown_by_rule("curves") == shown_by_rule("report picture") == [f"macro-F1 ({rule})" for rule in rule_names()]
    assert catalogue.columns_shown_at_k() == {"precision": "P@k", "ndcg": "nDCG@k", "recall": "R@k"}


def test_a_name_tells_its_rule():
    assert rule_of("macro-F1 (class-mass)") == "class-mass"
    for name in ("AUC (row)", "P@1", "nDCG@5 to best", "train s", ""):
        assert rule_of(name) is None


def test_measures_of_one_kind_are_computed_by_their_full_names(monkeypatch):
    toys = (
        Measure("first", "suggestions", Hits.exact, "every k"),
        Measure("hits", "suggestions", lambda hits: float(hits.right.sum())),
        Measure("only a curve", "suggestions", Hits.exact, "curve", column="toy"),
        Measure("other", "labels", lambda tally: 0.0),
    )
    monkeypatch.setattr(catalogue, "MEASURES", toys)
    hits = Hits(np.array([[True, False], [True, True]]), np.array([1, 2]))
    values = compute("suggestions", hits, [1, 2])
    assert {name: np.mean(value) for name, value in values.items()} == {"first@1": 1.0, "first@2": 0.5, "hits": 3.0}
    assert catalogue.quality_against_k("suggestions", hits, [1, 2]) == {"toy": [1.0, 0.5]}
    assert compute("labels", None, rule="half") == {"other (half)": 0.0}


def test_errors_of_ratings_are_entries_too():
    errors = rating_errors([7, 3], np.array([1.0, 5.0]), np.array([2.0, 2.0]))
    values = compute("ratings", errors)
    assert {name: np.mean(value) for name, value in values.items()} == pytest.approx({"MAE": 2.0, "RMSE": np.sqrt(5)})


def test_a_champion_is_chosen_by_measures_of_what_it_learnt_from():
    assert champion_measure("P@3", "documents") == (find("P@3")[0], 3)
    assert champion_measure("MAE", "ratings") == (find("MAE")[0], None)
    assert champion_measure("nDCG@10", "ratings") == (find("nDCG@10")[0], 10)
    for name, kind, known in (
        ("MAE", "documents", "P@k, nDCG@k, R@k, acc@k"),
        ("macro-F1@5", "ratings", "P@k, nDCG@k, R@k, acc@k, MAE, RMSE"),
        ("AUC (row)", "documents", "P@k, nDCG@k, R@k, acc@k"),
        ("P@0", "documents", "P@k, nDCG@k, R@k, acc@k"),
        ("MAE@3", "ratings", "P@k, nDCG@k, R@k, acc@k, MAE, RMSE"),
        ("MAE (new users)", "ratings", "P@k, nDCG@k, R@k, acc@k, MAE, RMSE"),
    ):
        with pytest.raises(ValueError, match=f"models are compared by one of {known}, not by '{re.escape(name)}'"):
            champion_measure(name, kind)
