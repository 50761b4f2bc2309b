"""A recommender on held-out ratings: matched by names, whole or as one of several that are compared."""

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
    for estimate in evaluation.summary.values():
        assert estimate.low < estimate.value < estimate.high
    assert evaluation.tested == evaluation.counts.ratings == len(HELD_OUT)
    table = evaluation.per_user.to_pydict()
    mine = HELD_OUT.table["user"].to_numpy() == HELD_OUT.user_names.index(table["user"][3])
    assert table["ratings"][3] == mine.sum()
    assert table["absolute_error"][3] == pytest.approx(np.abs(error[mine]).sum())


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
    with pytest.raises(ValueError, match="models are compared by one of MAE, RMSE, not by 'P@5'"):
        held_out_values(recommender(), HELD_OUT, "P@5")


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
    assert (back.summary, back.counts) == (evaluation.summary, evaluation.counts)
    assert back.per_user.equals(evaluation.per_user)
    assert back.per_unit.column_names == ["MAE", "RMSE"]
    (tmp_path / "per_user.parquet").unlink()
    with pytest.raises(ValueError, match=r"per_user\.parquet: not part of a stored evaluation"):
        Evaluation.load(tmp_path)


def test_no_held_out_ratings():
    with pytest.raises(ValueError, match="there are no ratings to measure on"):
        evaluate_ratings(recommender(), Ratings.from_values([], [], []))
