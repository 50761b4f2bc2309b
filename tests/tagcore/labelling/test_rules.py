"""Labels by rule against counting by hand, in whatever parts and blocks the scores are."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, ndtri

from tagcore.labelling.expected_f import ExpectedF
from tagcore.labelling.rules import RuleInputs, rule_named, rule_names
from tests.tagcore.metrics.problems import InParts, truth_and_scores


@dataclass
class Sampled:
    """A model whose samples agree best with the middle one of three thresholds."""

    expected_f_calls: int = 0

    def expected_f(self, scores):
        self.expected_f_calls += 1
        n_labels = scores.shape[1]
        both = np.tile([1, 9, 1], (n_labels, 1, 1))
        grid = np.tile(ndtri([0.2, 0.5, 0.8]), (n_labels, 1))
        return ExpectedF(grid, both, np.full((n_labels, 1), 9), np.full((n_labels, 3), 9))


class Logistic:
    proba = staticmethod(expit)


def labels_of(name, parts, **known):
    """All rows labelled by a rule, (n, L); None where the rule cannot be followed."""
    rule = rule_named(name)
    settled = rule.settle(RuleInputs(parts, **known))
    if settled is None:
        return None

    def chosen(part):
        part = replace(part, scorer=Logistic())
        return [rule.choose(part, first, scores, settled) for first, scores in part.blocks()]

    return np.vstack([block for blocks in parts.collect(chosen) for block in blocks])


@given(truth_and_scores(max_rows=40), st.lists(st.integers(0, 40), max_size=4), st.integers(1, 9), st.data())
def test_class_mass_labels_exactly_its_share(problem, cuts, step, data):
    _, scores = problem
    n, n_labels = scores.shape
    rates = data.draw(arrays(np.float64, n_labels, elements=st.floats(0, 1)))
    expected = np.zeros(scores.shape, bool)
    for label, rate in enumerate(rates):
        expected[np.argsort(-scores[:, label], kind="stable")[: round(n * rate)], label] = True
    np.testing.assert_array_equal(labels_of("class-mass", InParts(scores, cuts, step), rates=rates), expected)


@given(truth_and_scores(), st.lists(st.integers(0, 12), max_size=3), st.data())
def test_the_other_rules_compare_scores_with_limits(problem, cuts, data):
    _, scores = problem
    limits = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, np.inf])
    thresholds = data.draw(arrays(np.float64, scores.shape[1], elements=limits))
    parts = InParts(scores, cuts)
    np.testing.assert_array_equal(labels_of("half", parts), expit(scores) > 0.5)
    np.testing.assert_array_equal(labels_of("thresholds", parts, thresholds=thresholds), scores > thresholds)
    np.testing.assert_array_equal(labels_of("sampled", parts, model=Sampled()), scores > 0)


def test_who_lacks_what_a_rule_needs_cannot_follow_it():
    parts = InParts(np.zeros((3, 2)), [])
    followed = [name for name in rule_names() if labels_of(name, parts, model=object()) is not None]
    assert followed == [name for name in rule_names() if rule_named(name).needs == "nothing"] == ["half"]


def test_a_posterior_is_sampled_once():
    inputs = RuleInputs(InParts(np.zeros((3, 2)), []), Sampled())
    rule_named("sampled").settle(inputs)
    assert inputs.expected_f is not None
    assert inputs.model.expected_f_calls == 1


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="no labelling rule 'best'; there are half, class-mass, thresholds, sampled"):
        rule_named("best")
    with pytest.raises(ValueError, match="one number from 0 to 1 per label"):
        labels_of("class-mass", InParts(np.zeros((4, 2)), []), rates=np.array([0.5, 1.5]))


def test_rules_have_names_of_their_own():
    assert len(set(rule_names())) == len(rule_names())
