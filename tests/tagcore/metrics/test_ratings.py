"""MAE and RMSE against scikit-learn, whole and in blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

from tagcore.metrics.ratings import RatingErrors, rating_errors

RATINGS = st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=30)


@given(RATINGS, st.integers(1, 7))
def test_equal_to_scikit_learn_in_blocks(pairs, step):
    true, predicted = np.array(pairs).T
    blocks = [rating_errors(true[i : i + step], predicted[i : i + step]) for i in range(0, len(true), step)]
    for found in (rating_errors(true, predicted), sum(blocks, RatingErrors())):
        assert found.n == len(pairs)
        assert found.mae == pytest.approx(mean_absolute_error(true, predicted), rel=1e-12)
        assert found.rmse == pytest.approx(root_mean_squared_error(true, predicted), rel=1e-12)


def test_any_one_shape_and_type():
    errors = rating_errors(np.array([[5, 4], [3, 1]], np.int8), np.array([[4, 4], [3, 3]], np.float32))
    assert (errors.n, errors.mae, errors.rmse) == (4, 0.75, np.sqrt(5 / 4))


def test_none_has_no_error():
    assert np.isnan([RatingErrors().mae, rating_errors([], []).rmse]).all()


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([1.0, 2.0], [1.0], r"\(2,\) ratings and \(1,\) predictions"),
        ([1.0, np.nan], [1.0, 1.0], "rating 1 is nan"),
        ([1.0, 2.0], [-np.inf, 1.0], "prediction 0 is -inf"),
    ],
)
def test_bad_ratings_are_named(true, predicted, message):
    with pytest.raises(ValueError, match=message):
        rating_errors(true, predicted)
