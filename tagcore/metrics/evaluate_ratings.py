"""Measures a recommender on held-out ratings, by every measure of ratings and of first items in the catalogue."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tagcore.metrics.catalogue import champion_measure, compute
from tagcore.metrics.evaluation import RatingCounts, RatingEvaluation
from tagcore.metrics.intervals import Estimate, bootstrap_intervals
from tagcore.metrics.ratings import RatingErrors, rating_errors
from tagcore.metrics.recommendations import recommend_and_compare, users_to_ask
from tagcore.ratings import Ratings
from tagcore.recommender import Recommender

KS = (5, 10, 20)
_PAIRS = 1_000_000  # predicted together


def evaluate_ratings(
    recommender: Recommender, held_out: Ratings, ks: Sequence[int] = KS, seed: int = 0
) -> RatingEvaluation:
    """Compares predictions with held-out ratings, and the first items of every user with those that the user liked;
    users and items are matched by their names.

    `seed` fixes the draws of the intervals.
    """
    errors = held_out_errors(recommender, held_out)
    users, items = (held_out.table[column].to_numpy() for column in ("user", "item"))
    tested = np.unique(users)
    names = [held_out.user_names[user] for user in tested]
    trained = _train_ratings(recommender, names)
    values = values_per_user(errors) | _new_user_values(errors, trained == 0)
    found, once = _top_n_values(recommender, held_out, tested, ks)
    per_user = {
        "user": pa.array(names, pa.string()),
        "train_ratings": trained,
        "ratings": errors.ratings,
        "absolute_error": errors.absolute,
        "squared_error": errors.squared,
    }
    rated = np.bincount(recommender.model.rated_items_, minlength=len(recommender.item_names)) > 0
    known_items = recommender.item_ids(held_out.item_names)[items]
    summary = bootstrap_intervals(values | found, seed=seed) | {name: Estimate(value) for name, value in once.items()}
    return RatingEvaluation(
        summary={name: estimate for name, estimate in summary.items() if not np.isnan(estimate.value)},
        counts=RatingCounts(
            ratings=len(held_out),
            users=tested.size,
            items=np.unique(items).size,
            ratings_of_new_users=int(errors.ratings[trained == 0].sum()),
            ratings_of_new_items=int(np.count_nonzero((known_items < 0) | ~rated[known_items])),
        ),
        per_user=pa.table({**per_user, **values, **found}),
    )


def held_out_values(recommender: Recommender, held_out: Ratings, measure: str) -> np.ndarray:
    """One value of a measure per user of the held-out ratings, by which any stored recommender is compared with
    another; names that it does not know get its fallback. NaN where a user has none."""
    _, k = champion_measure(measure, "ratings")
    if k is None:
        return values_per_user(held_out_errors(recommender, held_out))[measure]
    tested = np.unique(held_out.table["user"].to_numpy())
    values, _ = _top_n_values(recommender, held_out, tested, [k])
    if not values:
        n = len(held_out)
        raise ValueError(f"{measure}: of {n:,} held-out ratings none counts as liked; MAE and RMSE need none")
    return values[measure]


def _top_n_values(
    recommender: Recommender, held_out: Ratings, tested: np.ndarray, ks: Sequence[int]
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Measures of the first k items, by name: one value per tested user, NaN for who was not asked, as nothing of what
    was held out was liked; and those that are one number for all."""
    users = users_to_ask(held_out)
    if not users.size:
        return {}, {}
    hits, recommendations = recommend_and_compare(recommender, held_out, users, max(ks))
    asked = np.searchsorted(tested, users)
    values = {}
    for name, of_users in compute("suggestions", hits, ks, learns_from="ratings").items():
        values[name] = np.full(tested.size, np.nan)
        values[name][asked] = np.asarray(of_users)
    once = compute("recommendations", recommendations, ks)
    return values, {name: float(np.asarray(value)) for name, value in once.items()}


def _new_user_values(errors: RatingErrors, new: np.ndarray) -> dict[str, np.ndarray]:
    """Errors of users without a rating to learn from, NaN for all others; nothing where there is no such user."""
    if not new.any():
        return {}
    theirs = RatingErrors(errors.ratings[new], errors.absolute[new], errors.squared[new])
    values = {}
    for name, of_users in compute("new users", theirs).items():
        values[name] = np.full(new.size, np.nan)
        values[name][new] = np.asarray(of_users)
    return values


def _train_ratings(recommender: Recommender, names: list[str]) -> np.ndarray:
    """How many ratings of each user the model has learnt from."""
    ids = recommender.user_ids(names)
    return np.where(ids < 0, 0, np.diff(recommender.model.rated_starts_)[ids])


def values_per_user(errors: RatingErrors) -> dict[str, np.ndarray]:
    """Every measure of ratings, by name: one value per user, whose mean is the measure."""
    return {name: np.asarray(values) for name, values in compute("ratings", errors).items()}


def held_out_errors(recommender: Recommender, held_out: Ratings) -> RatingErrors:
    """Predicts every held-out rating and adds the errors up by user, in the order of the held-out users' numbers."""
    users, items, values = (held_out.table[column].to_numpy() for column in ("user", "item", "value"))
    user_ids, item_ids = recommender.user_ids(held_out.user_names), recommender.item_ids(held_out.item_names)
    predicted = np.empty(values.size)
    for start in range(0, values.size, _PAIRS):
        pairs = slice(start, start + _PAIRS)
        predicted[pairs] = recommender.model.predict(user_ids[users[pairs]], item_ids[items[pairs]])
    return rating_errors(users, values, predicted)
