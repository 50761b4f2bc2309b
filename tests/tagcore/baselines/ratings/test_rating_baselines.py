"""Means and damped biases of ratings, against sums over plain lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagcore.baselines import DampedBiases, ItemKNN, ItemMean, PopularItems, UserMean
from tagcore.ratings import Ratings
from tagcore.synthetic.ratings import PlantedRatings

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


@given(TRIPLES)
def test_popular_items_are_those_of_most_users(triples):
    ratings = ratings_of(triples)
    cells, (users, items) = plain(ratings), all_pairs(ratings)
    raters = len({u for u, *_ in cells})
    expected = [sum(i == item for _, i, _ in cells) / raters for item in items]
    np.testing.assert_allclose(PopularItems().fit(ratings).predict(users, items), expected)


def neighbours_by_loops(ratings, base, k, shrinkage):
    """item -> {similar item: how much}, by pairs of columns."""
    E, Y = np.zeros(ratings.matrix.shape), np.zeros(ratings.matrix.shape, bool)
    for u, i, v in plain(ratings):
        E[u, i], Y[u, i] = v - base.mean_ - base.user_biases_[u] - base.item_biases_[i], True
    found = {}
    for i in range(E.shape[1]):
        alike = {}
        for j in range(E.shape[1]):
            n, norm = (Y[:, i] & Y[:, j]).sum(), np.sqrt((E[:, i] ** 2).sum() * (E[:, j] ** 2).sum())
            if i != j and n and norm > 0:
                alike[j] = float(E[:, i] @ E[:, j] / norm * n / (n + shrinkage))
        best = sorted((j for j in alike if alike[j] > 0), key=lambda j: (-round(alike[j], 12), j))[:k]
        found[i] = {j: alike[j] for j in best}
    return found, E, Y


@given(TRIPLES, st.integers(1, 5), st.sampled_from([0.0, 2.0]))
@settings(max_examples=40, deadline=None)
def test_item_neighbours_are_those_of_loops_over_pairs(triples, k, shrinkage):
    ratings = ratings_of(triples)
    users, items = all_pairs(ratings)
    base = DampedBiases().fit(ratings)
    found, E, Y = neighbours_by_loops(ratings, base, k, shrinkage)
    expected = base.predict(users, items)
    for n, (u, i) in enumerate(zip(users, items, strict=True)):
        near = {j: s for j, s in found.get(i, {}).items() if u >= 0 and Y[u, j]}
        if near:
            expected[n] += sum(s * E[u, j] for j, s in near.items()) / sum(near.values())
    model = ItemKNN(k, shrinkage).fit(ratings)
    tied = any(len({round(s, 9) for s in row.values()}) < len(row) for row in found.values())
    if not tied:
        np.testing.assert_allclose(model.predict(users, items), expected, rtol=1e-9, atol=1e-9)


def test_item_neighbours_beat_biases_where_tastes_differ():
    made = PlantedRatings(300, 60, n_factors=2, ratings_per_user=25, noise=0.3, seed=4)
    whole = made.ratings()
    out = np.random.default_rng(0).random(len(whole)) < 0.3
    learnt = whole.take(np.flatnonzero(~out))
    users, items, values = (whole.table[c].to_numpy()[out] for c in ("user", "item", "value"))
    errors = [np.abs(m.fit(learnt).predict(users, items) - values).mean() for m in (ItemKNN(), DampedBiases())]
    assert errors[0] < 0.97 * errors[1]
