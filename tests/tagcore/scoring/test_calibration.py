"""Calibrators against scikit-learn and on degenerate input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save
from scipy.special import logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from tagcore.scoring.calibration import (
    CALIBRATORS,
    FrequencyCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    better_calibrator,
)

numbers = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 5e-324, 1e-310, 0.5, 0.5])
samples = st.lists(st.tuples(numbers, st.booleans()), min_size=1, max_size=40)
every_calibrator = pytest.mark.parametrize("kind", [IsotonicCalibrator, PlattCalibrator])


@every_calibrator
@given(samples=samples, others=st.lists(numbers, max_size=30))
def test_calibrators_rise_and_stay_probabilities(kind, samples, others):
    scores, hits = (np.array(column) for column in zip(*samples, strict=True))
    calibrator = kind().fit(scores, hits)
    probabilities = calibrator(np.sort(np.concatenate([scores, others])))
    assert (np.diff(probabilities) >= 0).all()
    assert probabilities[0] >= 0
    assert probabilities[-1] <= 1
    stored = load(save(calibrator.to_arrays()))
    again = CALIBRATORS[calibrator.name].from_arrays(stored)
    np.testing.assert_array_equal(again(scores), calibrator(scores))


@given(samples=st.lists(st.tuples(st.integers(-50, 50), st.booleans()), min_size=1, max_size=60))
def test_isotonic_equals_scikit_learn(samples):
    scores, hits = (np.array(column, float) for column in zip(*samples, strict=True))
    theirs = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, hits)
    grid = np.linspace(-60, 60, 481)
    np.testing.assert_allclose(IsotonicCalibrator().fit(scores, hits)(grid), theirs.predict(grid), atol=1e-12)


def test_isotonic_keeps_only_its_bends():
    scores = np.linspace(0, 1, 1001)
    calibrator = IsotonicCalibrator().fit(scores, scores > 0.5)
    assert calibrator.to_arrays()["scores"].tolist() == [0, 0.5, 0.501, 1]


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_platt_equals_logistic_regression_on_its_targets(scale, shift):
    rng = np.random.default_rng(0)
    plain = rng.normal(size=300)
    hits = rng.random(300) < 1 / (1 + np.exp(1 - 2 * plain))
    n_hits = hits.sum()
    target = np.where(hits, (n_hits + 1) / (n_hits + 2), 1 / (300 - n_hits + 2))
    twice = np.concatenate([plain, plain])[:, None]
    theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000, solver="newton-cholesky")
    theirs.fit(twice, np.repeat([1, 0], 300), sample_weight=np.concatenate([target, 1 - target]))
    grid = np.linspace(-4, 4, 50)
    probabilities = PlattCalibrator().fit(scale * (plain + shift), hits)(scale * (grid + shift))
    np.testing.assert_allclose(probabilities, theirs.predict_proba(grid[:, None])[:, 1], atol=1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_platt_is_at_its_optimum_also_with_heavy_tails(seed):
    """Plain Newton steps run away on some of these; at the optimum residuals are orthogonal to 1 and to the score."""
    rng = np.random.default_rng(seed)
    scores = np.exp(6 * rng.normal(size=41))
    hits = scores > np.quantile(scores, rng.uniform(0.1, 0.97))
    n_hits = hits.sum()
    residual = PlattCalibrator().fit(scores, hits)(scores) - np.where(
        hits, (n_hits + 1) / (n_hits + 2), 1 / (43 - n_hits)
    )
    assert abs(residual.sum()) < 1e-6
    assert abs(residual @ scores / scores.max()) < 1e-6


@pytest.mark.parametrize("gap", [1e-3, 1e6])
def test_platt_on_hits_that_a_score_parts_perfectly(gap):
    scores = np.concatenate([np.arange(50.0), gap + 50 + np.arange(50.0)])
    probabilities = PlattCalibrator().fit(scores, scores >= 50)(scores)
    assert probabilities[:50].max() < 0.5 < probabilities[50:].min()
    assert probabilities.min() > 0
    assert probabilities.max() < 1


@pytest.mark.parametrize("n", [1, 5, 1000])
@pytest.mark.parametrize("hit", [0, 1])
def test_hits_only_and_misses_only(n, hit):
    scores = np.linspace(-1, 1, n)
    assert (IsotonicCalibrator().fit(scores, np.full(n, hit))(scores) == hit).all()
    smoothed = (n + 1) / (n + 2) if hit else 1 / (n + 2)
    np.testing.assert_allclose(PlattCalibrator().fit(scores, np.full(n, hit))(scores), smoothed, rtol=1e-12)


def test_one_score_gives_the_share_of_hits():
    hits = np.array([1, 0, 0, 0])
    assert IsotonicCalibrator().fit(np.full(4, 0.3), hits)(np.array([-9, 0.3, 9])).tolist() == [0.25] * 3
    target = (2 / 3 + 3 * 1 / 5) / 4
    np.testing.assert_allclose(PlattCalibrator().fit(np.full(4, 0.3), hits)(np.array([-9, 0.3, 9])), target)


@every_calibrator
def test_scores_that_mislead_give_a_flat_curve(kind):
    scores = np.linspace(0, 1, 100)
    probabilities = kind().fit(scores, scores < 0.5)(scores)
    assert np.ptp(probabilities) == 0
    assert probabilities[0] == pytest.approx(0.5, abs=1e-9)


@every_calibrator
def test_tables_of_scores(kind):
    scores, hits = np.array([[0.1, 0.2], [0.8, 0.9]]), np.array([[False, True], [True, True]])
    table = kind().fit(scores, hits)(scores)
    assert table.shape == (2, 2)
    np.testing.assert_array_equal(table.ravel(), kind().fit(scores.ravel(), hits.ravel())(scores.ravel()))


@every_calibrator
@pytest.mark.parametrize(
    ("scores", "hits", "message"),
    [
        ([0.1, np.nan], [0, 1], r"score \(1,\) is nan, expected a finite number"),
        ([0.1, np.inf], [0, 1], r"score \(1,\) is inf"),
        ([0.1, 0.2], [0, 2], "values other than 0 and 1"),
        ([0.1, 0.2], [0, np.nan], r"hit \(1,\) is nan"),
        ([0.1, 0.2], [0], "expected one shape"),
        ([], [], "not empty"),
    ],
)
def test_bad_samples_are_named(kind, scores, hits, message):
    with pytest.raises(ValueError, match=message):
        kind().fit(np.array(scores), np.array(hits))


@every_calibrator
def test_misuse_is_named(kind):
    with pytest.raises(ValueError, match="has not been fitted"):
        kind()(np.zeros(2))
    with pytest.raises(ValueError, match=r"score \(0,\) is nan"):
        kind().fit(np.array([0.0, 1.0]), np.array([0, 1]))(np.array([np.nan]))
    with pytest.raises(ValueError, match=f"the {kind.name} calibrator has arrays .* got \\['x'\\]"):
        kind.from_arrays({"x": np.zeros(2)})


@pytest.mark.parametrize(
    ("name", "arrays", "message"),
    [
        ("isotonic", {"scores": [0.0, 0.0], "probabilities": [0.0, 1.0]}, "must rise"),
        ("isotonic", {"scores": [0.0, 1.0], "probabilities": [0.5, 0.4]}, "must rise"),
        ("isotonic", {"scores": [0.0, 1.0], "probabilities": [0.5, 1.4]}, "from 0 to 1"),
        ("isotonic", {"scores": [], "probabilities": []}, "must rise"),
        ("isotonic", {"scores": [0.0], "probabilities": [np.nan]}, "finite number"),
        ("platt", {"curve": [0.0, 0.0, 1.0, 0.0]}, "scale > 0"),
        ("platt", {"curve": [0.0, 1.0, -1.0, 0.0]}, "slope ≥ 0"),
        ("platt", {"curve": [0.0]}, "centre, scale"),
    ],
)
def test_damaged_arrays_are_refused(name, arrays, message):
    with pytest.raises(ValueError, match=message):
        CALIBRATORS[name].from_arrays({key: np.array(value) for key, value in arrays.items()})


def test_platts_smoothing_keeps_logits_finite():
    scores = np.arange(10.0)
    assert np.isfinite(logit(PlattCalibrator().fit(scores, scores > 4)(scores))).all()


def by_frequency(n: int = 4000, weight: float = -0.8):
    """scores of ten tags, whose hits depend on the score and on how frequent the tag is."""
    rng = np.random.default_rng(1)
    documents = np.array([1, 2, 3, 5, 10, 20, 50, 100, 300, 900])
    tags, scores = rng.integers(0, 10, n), rng.normal(size=n)
    frequencies = np.log1p(documents) - np.log1p(documents).mean()
    hits = rng.random(n) < 1 / (1 + np.exp(-(1.5 * scores + weight * frequencies[tags] - 0.5)))
    return scores, hits, tags, documents


def test_frequency_equals_logistic_regression_on_two_inputs():
    scores, hits, tags, documents = by_frequency()
    calibrator = FrequencyCalibrator().fit_by_tag(scores, hits, tags, documents)
    inputs = np.column_stack([scores, np.log1p(documents)[tags]])
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000, solver="newton-cholesky").fit(inputs, hits)
    np.testing.assert_allclose(calibrator(scores, tags), theirs.predict_proba(inputs)[:, 1], atol=2e-3)
    every = calibrator(np.tile(scores[:50, None], 10))  # all tags in order
    np.testing.assert_array_equal(every[np.arange(50), tags[:50]], calibrator(scores[:50], tags[:50]))
    again = CALIBRATORS["frequency"].from_arrays(load(save(calibrator.to_arrays())))
    np.testing.assert_array_equal(again(scores, tags), calibrator(scores, tags))
    with pytest.raises(ValueError, match="3 columns of scores, expected all 10 tags"):
        calibrator(np.zeros((2, 3)))


def test_frequency_never_falls_with_the_score():
    scores, hits, tags, documents = by_frequency()
    calibrator = FrequencyCalibrator().fit_by_tag(-scores, hits, tags, documents)
    one_tag = calibrator(np.sort(scores), np.full(scores.size, 3))
    assert (np.diff(one_tag) >= 0).all()
    assert calibrator(np.zeros(1), np.array([0])) > calibrator(np.zeros(1), np.array([9]))  # what frequency says stays


@pytest.mark.parametrize(("shape", "name"), [("frequent", "frequency"), ("few", "frequency"), ("bent", "isotonic")])
def test_the_better_calibrator_is_that_of_less_loss_on_the_other_half(shape, name):
    scores, hits, tags, documents = by_frequency(*((120, 0.0) if shape == "few" else ()))
    if shape == "bent":  # two steps, which no logistic curve can follow
        hits = np.random.default_rng(2).random(scores.size) < np.where(
            np.abs(scores) > 1, 0.5 + 0.4 * np.sign(scores), 0.5
        )
    rows = np.arange(scores.size) // 4
    assert better_calibrator(scores, hits, tags, rows, documents).name == name


def test_one_row_is_enough_for_a_calibrator():
    calibrator = better_calibrator(np.zeros(2), np.array([True, False]), np.arange(2), np.zeros(2, int), np.ones(2))
    np.testing.assert_allclose(calibrator(np.zeros((1, 2))), 0.5)


@pytest.mark.parametrize("n", [1_000, 200_000])
@pytest.mark.parametrize("told", ["one frequency", "the frequency alone"])
def test_inputs_that_tell_the_same_give_the_rate_and_say_nothing_of_other_tags(n, told):
    """ten tags that always come together; a score that is the frequency itself, of which two are there."""
    rng = np.random.default_rng(0)
    documents = np.concatenate([np.full(10, 0.4 * n), np.full(5, 0.01 * n)])
    tags = rng.integers(0, 10 if told == "one frequency" else 15, n)
    scores = np.zeros(n) if told == "one frequency" else documents[tags] / n
    hits = rng.random(n) < documents[tags] / n
    calibrator = FrequencyCalibrator().fit_by_tag(scores, hits, tags, documents)
    for tag in np.unique(tags):
        at = tags == tag
        np.testing.assert_allclose(calibrator(scores[at], tags[at]), documents[tag] / n, atol=0.05)
    assert abs(calibrator.curve_[4]) < (1e-6 if told == "one frequency" else 2)
