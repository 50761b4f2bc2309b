"""Bootstrap intervals and paired tests against scipy, against their own promise, and on odd input."""

import math
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tagcore.metrics.intervals import (
    Estimate,
    Ratio,
    bootstrap_interval,
    bootstrap_intervals,
    bootstrap_ratio,
    bootstrap_ratios,
    paired_difference,
    t_interval,
)
from tagcore.metrics.kernels import bootstrap as kernels
from tagcore.numeric.read_only import freeze

values = st.lists(st.sampled_from([0.0, 0.2, 0.25, 1 / 3, 1.0, math.nan]), min_size=1, max_size=40)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@given(values, st.integers(0, 2**64 - 1))
def test_the_mean_lies_among_what_was_seen(numbers, seed):
    estimate = bootstrap_interval(np.array(numbers), n_resamples=50, seed=seed)
    defined = [v for v in numbers if not math.isnan(v)]
    assert repr(estimate) == repr(bootstrap_interval(np.array(numbers), n_resamples=50, seed=seed))
    if len(defined) < 2:
        assert math.isnan(estimate.low)
        assert math.isnan(estimate.high)
        assert defined == [] or estimate.value == defined[0]
    else:
        assert estimate.value == pytest.approx(np.mean(defined))
        assert min(defined) - 1e-12 <= estimate.low <= estimate.high <= max(defined) + 1e-12


def test_equal_to_scipys_bootstrap():
    sample = np.random.default_rng(0).gamma(2.0, size=400)
    estimate = bootstrap_interval(sample, level=0.9, n_resamples=9999)
    theirs = stats.bootstrap(
        (sample,), np.mean, confidence_level=0.9, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    error = sample.std() / np.sqrt(len(sample))
    assert abs(estimate.low - theirs.low) < 0.08 * error
    assert abs(estimate.high - theirs.high) < 0.08 * error


def test_draws_follow_their_published_definition():
    """Draw i of resample b is splitmix64 of (seed, b, i), here in Python's own integers: the same on any machine."""

    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    golden, seed, sample = 0x9E3779B97F4A7C15, 12345, np.random.default_rng(5).random(30)
    means = []
    for b in range(3):  # so few that the interval shows them all
        key = mix((mix(seed) + (b + 1) * golden) % 2**64)
        draws = [mix((key + (i + 1) * golden) % 2**64) for i in range(30)]
        times = np.bincount([(draw >> 32) * 30 >> 32 for draw in draws], minlength=30)
        means.append(sum(times * sample) / 30)  # in the order of rows, as floats do not add up alike in any other
    estimate = bootstrap_interval(sample, n_resamples=3, seed=seed)
    assert estimate == Estimate(sample.mean(), *np.quantile(means, [0.025, 0.975]))


def test_many_rows_and_resamples_are_drawn_alike():
    """More of both than are taken together at once."""
    values = np.random.default_rng(1).random((600, 2))
    found = np.empty((19, 2))
    kernels.resampled_sums(freeze(values), np.uint64(7), found)
    alone = np.empty((19, 1))
    kernels.resampled_sums(freeze(np.ascontiguousarray(values[:, 1:])), np.uint64(7), alone)
    np.testing.assert_array_equal(found[:, 1:], alone)
    ones = np.empty((19, 1))
    kernels.resampled_sums(freeze(np.ones((600, 1))), np.uint64(7), ones)
    assert (ones == 600).all()
    assert len(np.unique(found[:, 0])) == 19


def test_seeds_matter():
    sample = np.random.default_rng(0).random(50)
    assert bootstrap_interval(sample, seed=1) != bootstrap_interval(sample, seed=2)


def test_intervals_keep_their_promise():
    rng = np.random.default_rng(3)
    inside = 0
    for seed in range(300):
        estimate = bootstrap_interval(rng.exponential(size=80), level=0.9, n_resamples=300, seed=seed)
        inside += estimate.low <= 1.0 <= estimate.high
    assert 0.83 < inside / 300 < 0.95


def test_several_measures_at_once_equal_one_by_one():
    rng = np.random.default_rng(0)
    columns = {"a": rng.random(30), "b": np.where(rng.random(30) < 0.4, np.nan, rng.random(30))}
    assert bootstrap_intervals(columns, seed=9) == {n: bootstrap_interval(v, seed=9) for n, v in columns.items()}


def test_a_ratio_of_sums():
    part, whole = np.array([1.0, 0.0, 2.0, 1.0]), np.array([2.0, 1.0, 2.0, 3.0])
    estimate = bootstrap_ratio(part, whole)
    assert estimate.value == 0.5
    assert 0 <= estimate.low < 0.5 < estimate.high <= 1
    assert bootstrap_ratio(np.zeros(3), np.zeros(3)) == Estimate(0, 0, 0)
    assert bootstrap_ratio(whole, whole) == Estimate(1, 1, 1)
    assert bootstrap_ratios({"a": Ratio(whole, whole), "b": Ratio(part, whole)}) == {
        "a": Estimate(1, 1, 1),
        "b": estimate,
    }
    assert math.isnan(bootstrap_ratio(part[:1], whole[:1]).low)


def test_a_paired_test_counts_both_tails_and_what_it_measured_itself():
    better = np.linspace(0.5, 1.0, 40)
    assert (
        paired_difference(better, np.zeros(40), n_resamples=199).p_value == 2 / 200
    )  # not one of 199 draws is below 0
    assert paired_difference(np.zeros(40), better, n_resamples=199).p_value == 2 / 200


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.2, 0.6, 1.0, math.nan])] * 2), min_size=1, max_size=30))
def test_paired_difference_counts_and_agrees_with_itself(pairs):
    a, b = np.array(pairs).T
    both = ~np.isnan(a - b)
    if not both.any():
        with pytest.raises(ValueError, match="no document has a value in both"):
            paired_difference(a, b)
        return
    comparison, back = paired_difference(a, b, n_resamples=199), paired_difference(b, a, n_resamples=199)
    assert comparison.n == both.sum() == comparison.wins + comparison.losses + comparison.ties
    assert comparison.wins == (a[both] > b[both]).sum() == back.losses
    assert comparison.difference == pytest.approx((a[both] - b[both]).mean()) == -back.difference
    assert comparison.p_value == back.p_value
    assert all(0 <= p <= 1 for p in (comparison.p_value, comparison.p_value_t))
    if comparison.n > 1:
        assert comparison.low == pytest.approx(-back.high)
        if comparison.p_value > 0.06 and comparison.n > 5:  # 0.05 and what 199 resamples or the signs of a few can tell
            assert comparison.low <= 0 <= comparison.high
    else:
        assert comparison.p_value == 1
        assert math.isnan(comparison.low)


def test_p_values_equal_scipys():
    rng = np.random.default_rng(0)
    a = rng.random(60)
    b = a + rng.normal(0.05, 0.2, 60)
    b[:7] = a[:7]
    comparison = paired_difference(a, b, n_resamples=9999)
    assert comparison.ties == 7
    assert comparison.p_value_t == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)
    assert comparison.p_value == pytest.approx(comparison.p_value_t, abs=0.02)
    assert comparison.difference == pytest.approx((a - b).mean())


def test_no_difference_is_never_significant():
    same = np.array([0.2, 1.0, 0.0])
    for numbers in (same, same[:1], np.array([0.5, np.nan])):
        comparison = paired_difference(numbers, numbers)
        assert (comparison.p_value, comparison.p_value_t) == (1, 1)
        assert comparison.difference == 0
        assert comparison.wins == comparison.losses == 0


def test_a_constant_difference_shows_no_more_than_its_signs():
    few, many = (paired_difference(np.full(n, 0.5), np.zeros(n)) for n in (3, 300))
    assert few.p_value == 0.25
    assert many.p_value < 0.01
    assert many.low == many.high == many.difference == 0.5


def test_resamples_that_all_agree_show_no_more_than_their_number():
    for n_resamples, p_value in ((99, 0.02), (999, 0.002)):
        assert paired_difference(np.full(300, 0.5), np.zeros(300), n_resamples=n_resamples).p_value == p_value


def test_false_alarms_are_as_rare_as_promised():
    rng = np.random.default_rng(4)
    alarms = [
        paired_difference(rng.random(60), rng.random(60), n_resamples=300, seed=i).p_value < 0.1 for i in range(300)
    ]
    assert 0.05 < np.mean(alarms) < 0.17


def test_memory_does_not_grow_with_resamples():
    sample = np.random.default_rng(0).random(20_000)
    bootstrap_interval(sample[:5])
    tracemalloc.start()
    bootstrap_interval(sample)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * sample.nbytes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval(np.zeros(0)), "at least one"),
        (lambda: bootstrap_interval(np.zeros((2, 2))), "one value per document"),
        (lambda: bootstrap_interval(np.array([0, np.inf])), "values is infinite at document 1"),
        (lambda: bootstrap_interval(np.zeros(3), level=1.0), "level is 1.0"),
        (lambda: bootstrap_interval(np.zeros(3), n_resamples=0), "n_resamples is 0"),
        (lambda: bootstrap_intervals({"a": np.zeros(3), "b": np.zeros(2)}), r"\[3, 2\] documents"),
        (lambda: paired_difference(np.zeros(3), np.zeros(2)), "a has 3 documents, b has 2"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("n", [2, 5, 30])
def test_t_interval_equals_scipy(n):
    values = np.random.default_rng(n).normal(0.4, 0.1, n)
    estimate = t_interval(values, level=0.9)
    low, high = stats.t.interval(0.9, n - 1, values.mean(), stats.sem(values))
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((values.mean(), low, high))


@pytest.mark.parametrize("values", [[0.3], [0.3, 0.3, 0.3], [0.3, np.nan]])
def test_repetitions_that_show_no_spread_have_no_interval(values):
    estimate = t_interval(np.array(values))
    assert np.isnan(estimate.low)
    assert np.isnan(estimate.high)
    assert estimate.value == pytest.approx(np.mean(values), nan_ok=True)
