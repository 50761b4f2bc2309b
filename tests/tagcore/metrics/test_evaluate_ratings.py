"""A recommender on held-out ratings: matched by names, whole or as one of several that are compared."""

from dataclasses import replace

import numpy as np
import pytest

from tagcore.baselines import DampedBiases, ItemMean, UserMean
from tagcore.features.rating_split import RatingSplit
from tagcore.metrics import evaluate_ratings as module
from tagcore.metrics.evaluate_ratings import evaluate_ratings, held_out_values
from tagcore.metrics.evaluation import Evaluation, RatingEvaluation
from tagcore.metrics.intervals import paired_difference
from tagcore.ratings import Ratings
from tagcore.recommender import Recommender
from tagcore.synthetic.ratings import PlantedRatings

LEARNT, HELD_OUT = RatingSplit(test=0.3).apply(PlantedRatings(150, 40, ratings_per_user=10, seed=5).ratings())


def recommender(model=None, ratings=LEARNT):
    return Recommender((model or ItemMean()).fit(ratings), ratings.user_names, ratings.item_names)


def predictions(model):
    """The prediction of every held-out rating, asked for one at a time."""
    users, items = (HELD_OUT.table[c].to_pylist() for c in ("user", "item"))
    names = HELD_OUT.user_names, HELD_OUT.item_names
    return np.array([model.predict(names[0][u], names[1][i]) for u, i in zip(users, items, strict=True)])


@pytest.mark.parametrize("model", [ItemMean(), UserMean(), DampedBiases()])
def test_measures_are_over_all_held_out_ratings(model, monkeypatch):
    monkeypatch.setattr(module, "_PAIRS", 7)
    served = recommender(model)
    evaluation = evaluate_ratings(served, HELD_OUT)
    error = HELD_OUT.table["value"].to_numpy() - predictions(served)
    assert evaluation.summary["MAE"].value == pytest.approx(np.abs(error).mean())
    assert evaluation.summary["RMSE"].value == pytest.approx(np.sqrt((error**2).mean()))
    for name in ("MAE", "RMSE"):
        estimate = evaluation.summary[name]
        assert estimate.low < estimate.value < estimate.high
    assert evaluation.tested == evaluation.counts.ratings == len(HELD_OUT)
    table = evaluation.per_user.to_pydict()
    mine = HELD_OUT.table["user"].to_numpy() == HELD_OUT.user_names.index(table["user"][3])
    assert table["ratings"][3] == mine.sum()
    assert table["absolute_error"][3] == pytest.approx(np.abs(error[mine]).sum())


def test_nobody_who_liked_anything_is_told_of():
    """what comes first of nothing is neither good nor bad; errors of ratings are there."""
    learnt = replace(Ratings.from_values(list("aabc"), list("xyxy"), [1.0, 5.0, 4.0, 2.0]), scale=(1.0, 5.0))
    low = replace(Ratings.from_values(list("abc"), list("xyx"), [1.0, 2.0, 1.0]), scale=(1.0, 5.0))
    served = recommender(ratings=learnt)
    with pytest.raises(ValueError, match="P@5: of 3 held-out ratings none counts as liked; MAE and RMSE need none"):
        held_out_values(served, low, "P@5")
    assert held_out_values(served, low, "MAE").shape == (3,)


def test_what_is_stored_is_what_another_is_paired_with():
    ours = evaluate_ratings(recommender(DampedBiases()), HELD_OUT)
    for measure in ("MAE", "RMSE"):
        stored = ours.per_unit[measure].to_numpy()
        np.testing.assert_array_equal(held_out_values(recommender(DampedBiases()), HELD_OUT, measure), stored)
        theirs = held_out_values(recommender(ItemMean()), HELD_OUT, measure)
        difference = paired_difference(stored, theirs)
        other = evaluate_ratings(recommender(ItemMean()), HELD_OUT).summary[measure].value
        assert difference.difference == pytest.approx(ours.summary[measure].value - other)
        assert difference.high < 0
    with pytest.raises(ValueError, match=r"models are compared by one of .*, MAE, RMSE, not by 'AUC'"):
        held_out_values(recommender(), HELD_OUT, "AUC")


def test_users_and_items_are_matched_by_name_and_new_ones_fall_back():
    known = Ratings.from_values(["cy", "bob"], ["rye", "tea"], [1, 5])  # other numbers than below
    held_out = Ratings.from_values(["ann", "bob", "bob"], ["tea", "jam", "tea"], [4, 4, 4])
    evaluation = evaluate_ratings(recommender(ItemMean(), known), held_out)
    assert evaluation.summary["MAE"].value == pytest.approx((1 + 1 + 1) / 3)
    counts = evaluation.counts
    assert (counts.users, counts.items, counts.ratings_of_new_users, counts.ratings_of_new_items) == (2, 2, 1, 1)
    assert evaluation.per_user["user"].to_pylist() == ["ann", "bob"]


def test_without_ratings_in_training_a_known_name_is_new():
    learnt = Ratings(LEARNT.table, [*LEARNT.user_names, "late"], [*LEARNT.item_names, "odd"])
    held_out = Ratings.from_values(["late", "user000001"], ["odd", "odd"], [3, 3])
    counts = evaluate_ratings(recommender(ItemMean(), learnt), held_out).counts
    assert (counts.ratings_of_new_users, counts.ratings_of_new_items) == (1, 2)


def test_a_folder_gives_it_back(tmp_path):
    evaluation = evaluate_ratings(recommender(), HELD_OUT)
    evaluation.save(tmp_path)
    back = Evaluation.load(tmp_path)
    assert type(back) is RatingEvaluation
    assert (repr(back.summary), back.counts) == (repr(evaluation.summary), evaluation.counts)  # some have no bounds
    assert back.per_user.to_pandas().equals(evaluation.per_user.to_pandas())  # NaN is NaN
    assert back.per_unit.column_names[:3] == ["MAE", "RMSE", "MAE (new users)"]
    (tmp_path / "per_user.parquet").unlink()
    with pytest.raises(ValueError, match=r"per_user\.parquet: not part of a stored evaluation"):
        Evaluation.load(tmp_path)


def test_no_held_out_ratings():
    with pytest.raises(ValueError, match="there are no ratings to measure on"):
        evaluate_ratings(recommender(), Ratings.from_values([], [], []))


def by_hand(served, held_out, k, threshold=None):
    """nDCG, recall, precision, hit rate and average precision of every user, from the definitions."""
    rows = list(zip(*(held_out.table[c].to_pylist() for c in ("user", "item", "value")), strict=True))
    found = {}
    for user in sorted({u for u, _, _ in rows}):
        mine = {held_out.item_names[i]: v for u, i, v in rows if u == user}
        least = threshold if threshold is not None else np.mean(list(mine.values()))
        good = {item for item, value in mine.items() if value >= least - 1e-12}
        if not good:
            found[user] = [np.nan] * 5
            continue
        (items,) = served.recommend_all([held_out.user_names[user]], k)
        right = [r.item in good for r in items]
        gains = sum(1 / np.log2(place + 2) for place, hit in enumerate(right) if hit)
        ideal = sum(1 / np.log2(place + 2) for place in range(min(k, len(good))))
        precise = sum(sum(right[: place + 1]) / (place + 1) for place, hit in enumerate(right) if hit)
        hits = sum(right)
        found[user] = [gains / ideal, hits / len(good), hits / k, float(hits > 0), precise / min(k, len(good))]
    return np.array([found[user] for user in sorted(found)]).T


@pytest.mark.parametrize("scale", [None, (0.5, 5.0)])
def test_first_items_are_compared_with_what_users_liked(scale):
    served = recommender(DampedBiases())
    held_out = Ratings(HELD_OUT.table, HELD_OUT.user_names, HELD_OUT.item_names, scale=scale)
    evaluation = evaluate_ratings(served, held_out, ks=(3, 10))
    for k in (3, 10):
        expected = by_hand(served, held_out, k, None if scale is None else 4)
        for name, values in zip(("nDCG", "R", "P", "acc", "MAP"), expected, strict=True):
            stored = evaluation.per_user[f"{name}@{k}"].to_numpy()
            np.testing.assert_allclose(stored, values)
            assert evaluation.summary[f"{name}@{k}"].value == pytest.approx(np.nanmean(values))
    assert np.isnan(evaluation.per_user["nDCG@10"].to_numpy()).any() == (scale is not None)
    np.testing.assert_array_equal(
        held_out_values(served, held_out, "nDCG@10"), evaluation.per_user["nDCG@10"].to_numpy()
    )
    shown = {r.item for of_user in served.recommend_all(held_out.user_names, 3) for r in of_user}
    assert evaluation.summary["item coverage@3"].value <= len(shown) / len(served.item_names)
    assert "tag recall@3" not in evaluation.summary


def test_items_are_matched_by_name_and_an_exhausted_user_gets_fewer():
    known = Ratings.from_values(["bob", "bob", "ann"], ["tea", "jam", "rye"], [5, 4, 3])
    held_out = Ratings.from_values(["bob", "ann"], ["new", "tea"], [4, 5])
    evaluation = evaluate_ratings(recommender(ItemMean(), known), held_out, ks=(1, 5))
    assert evaluation.per_user["user"].to_pylist() == ["bob", "ann"]
    assert evaluation.per_user["R@5"].to_pylist() == [0.0, 1.0]  # of bob's only rye is left, and new is not known
    assert evaluation.per_user["nDCG@1"].to_pylist() == [0.0, 1.0]
    assert evaluation.summary["item coverage@5"].value == 1.0


def test_errors_of_users_without_a_rating_to_learn_from_stand_apart():
    first = LEARNT.table["user"].to_numpy() > 9
    learnt = LEARNT.take(np.flatnonzero(first))
    served = recommender(ItemMean(), learnt)
    evaluation = evaluate_ratings(served, HELD_OUT)
    error = np.abs(HELD_OUT.table["value"].to_numpy() - predictions(served))
    counts = np.bincount(learnt.table["user"].to_numpy(), minlength=150)
    new = counts[HELD_OUT.table["user"].to_numpy()] == 0
    assert evaluation.summary["MAE (new users)"].value == pytest.approx(error[new].mean())
    assert evaluation.counts.ratings_of_new_users == new.sum()
    trained = dict(zip(*(evaluation.per_user[c].to_pylist() for c in ("user", "train_ratings")), strict=True))
    assert trained == {name: counts[HELD_OUT.user_names.index(name)] for name in trained}
    assert "MAE (new users)" not in evaluate_ratings(recommender(ItemMean(), HELD_OUT), HELD_OUT).summary


def test_of_very_many_users_some_are_asked(monkeypatch):
    monkeypatch.setattr("tagcore.metrics.recommendations.MOST_USERS", 20)
    values = evaluate_ratings(recommender(), HELD_OUT).per_user["nDCG@5"].to_numpy()
    assert np.count_nonzero(~np.isnan(values)) == 20


def test_where_nobody_liked_anything_there_are_errors_alone():
    held_out = Ratings(HELD_OUT.table, HELD_OUT.user_names, HELD_OUT.item_names, scale=(0.5, 100.0))
    assert set(evaluate_ratings(recommender(ItemMean(), held_out), held_out).summary) == {"MAE", "RMSE"}
