"""Means and damped biases of ratings, against sums over plain lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.baselines import DampedBiases, ItemMean, UserMean
from tagcore.ratings import Ratings

TRIPLES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 10)),
    min_size=1,
    max_size=25,
    unique_by=lambda triple: triple[:2],
)
DAMPING = st.sampled_from([0, 0.5, 5.0])


def ratings_of(triples):
    """Ratings whose names also hold a user and an item that nobody has met."""
    users, items, values = zip(*triples, strict=True)
    named = Ratings.from_values([str(u) for u in users], [str(i) for i in items], values)
    return Ratings(named.table, [*named.user_names, "new"], [*named.item_names, "new"])


def plain(ratings):
    """Lists of (user id, item id, value)."""
    return list(zip(*(ratings.table[c].to_pylist() for c in ("user", "item", "value")), strict=True))


def all_pairs(ratings):
    """Every pair of ids, those without ratings and -1 included."""
    pairs = [(u, i) for u in range(-1, len(ratings.user_names)) for i in range(-1, len(ratings.item_names))]
    return [list(column) for column in zip(*pairs, strict=True)]


def mean_or(values, other):
    return sum(values) / len(values) if values else other


@given(TRIPLES)
def test_means_are_of_the_item_or_the_user_else_of_all(triples):
    ratings = ratings_of(triples)
    cells, (users, items) = plain(ratings), all_pairs(ratings)
    mean = mean_or([v for *_, v in cells], None)
    of_items = [mean_or([v for _, i, v in cells if i == item], mean) for item in items]
    of_users = [mean_or([v for u, _, v in cells if u == user], mean) for user in users]
    np.testing.assert_allclose(ItemMean().fit(ratings).predict(users, items), of_items, rtol=1e-12)
    np.testing.assert_allclose(UserMean().fit(ratings).predict(users, items), of_users, rtol=1e-12)


@given(TRIPLES, DAMPING, DAMPING)
def test_biases_are_damped_sums_of_items_first_and_then_of_users(triples, of_items, of_users):
    ratings = ratings_of(triples)
    cells, (users, items) = plain(ratings), all_pairs(ratings)
    mean = mean_or([v for *_, v in cells], None)

    def damped(values, damping):
        return sum(values) / (len(values) + damping) if values else 0.0

    item_bias = {i: damped([v - mean for _, j, v in cells if j == i], of_items) for i in set(items)}
    user_bias = {u: damped([v - mean - item_bias[i] for w, i, v in cells if w == u], of_users) for u in set(users)}
    expected = [mean + user_bias[u] + item_bias[i] for u, i in zip(users, items, strict=True)]
    model = DampedBiases(item_damping=of_items, user_damping=of_users).fit(ratings)
    np.testing.assert_allclose(model.predict(users, items), expected, rtol=1e-9, atol=1e-9)


def test_damping_keeps_one_lucky_rating_from_the_top():
    users = [f"u{n}" for n in range(21)]
    ratings = Ratings.from_values(users, ["liked"] * 20 + ["lucky"], [4.5] * 10 + [4] * 10 + [5])
    assert ItemMean().fit(ratings).recommend(-1, 1)[0].tolist() == [1]
    assert DampedBiases(item_damping=0, user_damping=0).fit(ratings).recommend(-1, 1)[0].tolist() == [1]
    spread = Ratings.from_values([*users, "x"], ["liked"] * 20 + ["lucky", "bad"], [4.5] * 10 + [4] * 10 + [5, 1])
    assert DampedBiases(item_damping=50).fit(spread).recommend(-1, 1)[0].tolist() == [0]


@pytest.mark.parametrize("damping", [-1, float("nan"), float("inf"), True, "much"])
def test_odd_dampings_are_named(damping):
    ratings = Ratings.from_values(["a"], ["i"], [1])
    for name in ("item_damping", "user_damping"):
        with pytest.raises(ValueError, match=f"{name} "):
            DampedBiases(**{name: damping}).fit(ratings)
