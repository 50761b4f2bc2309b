"""The reliability curve against scikit-learn, and its error against what was planted."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from tagcore.metrics.calibration import expected_calibration_error, reliability_curve

pairs = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


@given(pairs, st.integers(1, 12))
def test_bins_of_equal_width_equal_scikit_learn(pairs, bins):
    p, hits = (np.array(column) for column in zip(*pairs, strict=True))
    curve = reliability_curve(p, hits, bins=bins, strategy="width")
    rate, promised = calibration_curve(hits, p, pos_label=True, n_bins=bins, strategy="uniform")
    np.testing.assert_allclose(curve["hit_rate"].to_numpy(), rate, atol=1e-12)
    np.testing.assert_allclose(curve["probability"].to_numpy(), promised, atol=1e-12)


@given(pairs, st.integers(1, 12))
def test_bins_of_equal_mass_hold_their_share_and_what_ties_with_it(pairs, bins):
    p, hits = (np.array(column) for column in zip(*pairs, strict=True))
    order, left = sorted(pairs), len(pairs)
    expected = []
    for j in range(1, bins + 1):
        edge = order[math.ceil(Fraction(j * len(pairs), bins)) - 1][0]
        inside = [(q, hit) for q, hit in order if q <= edge][len(order) - left :]
        left -= len(inside)
        if inside:
            expected.append((len(inside), *np.mean(inside, axis=0)))
    curve = reliability_curve(p, hits, bins=bins, strategy="mass")
    found = [curve[name].to_numpy() for name in ("count", "probability", "hit_rate")]
    np.testing.assert_allclose(np.transpose(found), expected, atol=1e-12)
    assert (curve["low"].to_numpy() <= curve["probability"].to_numpy() + 1e-12).all()
    assert (curve["high"].to_numpy() >= curve["probability"].to_numpy() - 1e-12).all()


@given(pairs, st.integers(1, 12), st.sampled_from(["width", "mass"]))
def test_the_error_is_the_mean_gap(pairs, bins, strategy):
    p, hits = (np.array(column) for column in zip(*pairs, strict=True))
    bins_of = reliability_curve(p, hits, bins=bins, strategy=strategy).to_pylist()
    gaps = [b["count"] * abs(b["hit_rate"] - b["probability"]) for b in bins_of]
    error = expected_calibration_error(p, hits, bins=bins, strategy=strategy)
    assert error == pytest.approx(sum(gaps) / len(p), abs=1e-12)


def test_honest_probabilities_have_no_error_and_boasting_shows():
    p = np.linspace(0.01, 0.99, 200_000)
    honest = np.random.default_rng(0).random(p.size) < p
    assert expected_calibration_error(p, honest) < 0.01
    assert expected_calibration_error(np.sqrt(p), honest) == pytest.approx((np.sqrt(p) - p).mean(), abs=0.01)


def test_mass_bins_hold_equally_many():
    p = np.random.default_rng(1).beta(1, 9, 3000)
    counts = reliability_curve(p, p > 2, bins=10, strategy="mass")["count"].to_pylist()
    assert counts == [300] * 10


def test_tables_are_taken_and_rounding_is_forgiven():
    p = np.array([[1 + 1e-9, 0.5], [-1e-9, 0.5]])
    assert expected_calibration_error(p, [[1, 1], [0, 0]]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("p", "hits", "options", "message"),
    [
        ([0.5, 1.5], [0, 1], {}, "probability 1 is 1.5, expected 0 to 1"),
        ([np.nan], [0], {}, "probability 0 is nan"),
        ([0.5], [2], {}, "other than 0 and 1"),
        ([0.5], [0, 1], {}, r"shape \(1,\), hits \(2,\)"),
        ([], [], {}, "no suggestions"),
        ([0.5], [1], {"bins": 0}, "bins is 0"),
        ([0.5], [1], {"strategy": "uniform"}, "strategy is 'uniform'"),
    ],
)
def test_bad_input_is_named(p, hits, options, message):
    with pytest.raises(ValueError, match=message):
        reliability_curve(np.array(p), np.array(hits), **options)
