"""Errors of ratings: values per user whose means are MAE and RMSE, and whose spread is that of the measures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

from tagcore.metrics.intervals import bootstrap_intervals
from tagcore.metrics.ratings import rating_errors

RATINGS = st.lists(st.tuples(st.integers(0, 5), st.floats(-100, 100), st.floats(-100, 100)), min_size=1, max_size=30)


@given(RATINGS)
def test_means_over_users_are_those_of_scikit_learn_over_ratings(triples):
    users, true, predicted = map(np.array, zip(*triples, strict=True))
    errors = rating_errors(users, true, predicted)
    assert errors.mae().size == errors.rmse().size == len(np.unique(users))
    assert errors.mae().mean() == pytest.approx(mean_absolute_error(true, predicted), abs=1e-9)
    assert errors.rmse().mean() == pytest.approx(root_mean_squared_error(true, predicted), abs=1e-9)


def test_sums_are_of_users_in_order():
    errors = rating_errors([9, 2, 9], [1, 2, 3], [2, 5, 1])
    assert (errors.ratings.tolist(), errors.absolute.tolist(), errors.squared.tolist()) == ([1, 2], [3, 3], [9, 5])


def some_ratings(n_users=300):
    """Ratings of users who differ much in how many they gave and how well they are predicted."""
    rng = np.random.default_rng(4)
    users = np.repeat(np.arange(n_users), rng.integers(1, 60, n_users))
    error = rng.normal(size=users.size) * rng.uniform(0.2, 2, n_users)[users]
    return users, error


@pytest.mark.parametrize("measure", ["mae", "rmse"])
def test_intervals_are_those_of_whole_users_drawn_again(measure):
    users, error = some_ratings()
    estimate = bootstrap_intervals({"values": getattr(rating_errors(users, error, 0 * error), measure)()})["values"]
    rng = np.random.default_rng(0)
    loss = np.abs(error) if measure == "mae" else error**2
    sums, counts = np.bincount(users, loss), np.bincount(users)
    drawn = [rng.integers(0, len(counts), len(counts)) for _ in range(4000)]
    means = np.array([sums[rows].sum() / counts[rows].sum() for rows in drawn])
    low, high = np.quantile(means if measure == "mae" else np.sqrt(means), [0.025, 0.975])
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.1 * (high - low))
    over_ratings = bootstrap_intervals({"values": np.abs(error)})["values"]
    assert measure == "rmse" or high - low > 2 * (over_ratings.high - over_ratings.low)  # ratings are no users


def test_a_perfect_prediction_has_no_error_and_no_spread():
    errors = rating_errors([0, 0, 1], [1, 2, 3], [1, 2, 3])
    assert errors.mae().tolist() == errors.rmse().tolist() == [0, 0]


@pytest.mark.parametrize(
    ("users", "true", "predicted", "message"),
    [
        ([0, 1], [1.0, 2.0], [1.0], r"\(2,\) users, \(2,\) ratings and \(1,\) predictions"),
        ([0], [1.0, 2.0], [1.0, 2.0], r"\(1,\) users, \(2,\) ratings"),
        ([0, 1], [1.0, np.nan], [1.0, 1.0], "rating 1 is nan"),
        ([0, 1], [1.0, 2.0], [-np.inf, 1.0], "prediction 0 is -inf"),
        ([], [], [], "there are no ratings to measure on"),
    ],
)
def test_bad_ratings_are_named(users, true, predicted, message):
    with pytest.raises(ValueError, match=message):
        rating_errors(users, true, predicted)
