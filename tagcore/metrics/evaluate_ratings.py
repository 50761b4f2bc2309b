"""Measures a recommender on held-out ratings, by every measure of ratings in the catalogue."""

import numpy as np
import pyarrow as pa

from tagcore.metrics.catalogue import champion_measure, compute
from tagcore.metrics.evaluation import RatingCounts, RatingEvaluation
from tagcore.metrics.intervals import bootstrap_intervals
from tagcore.metrics.ratings import RatingErrors, rating_errors
from tagcore.ratings import Ratings
from tagcore.recommender import Recommender

_PAIRS = 1_000_000  # predicted together


def evaluate_ratings(recommender: Recommender, held_out: Ratings, seed: int = 0) -> RatingEvaluation:
    """Compares predictions with held-out ratings, whose users and items are matched by their names.

    `seed` fixes the draws of the intervals.
    """
    errors = held_out_errors(recommender, held_out)
    values = values_per_user(errors)
    users, items = (held_out.table[column].to_numpy() for column in ("user", "item"))
    tested = np.unique(users)
    per_user = {
        "user": pa.array([held_out.user_names[user] for user in tested], pa.string()),
        "ratings": errors.ratings,
        "absolute_error": errors.absolute,
        "squared_error": errors.squared,
    }
    rated = np.bincount(recommender.model.rated_items_, minlength=len(recommender.item_names)) > 0
    active = np.diff(recommender.model.rated_starts_) > 0
    known_users = recommender.user_ids(held_out.user_names)[users]
    known_items = recommender.item_ids(held_out.item_names)[items]
    return RatingEvaluation(
        summary=bootstrap_intervals(values, seed=seed),
        counts=RatingCounts(
            ratings=len(held_out),
            users=tested.size,
            items=np.unique(items).size,
            ratings_of_new_users=_new(known_users, active),
            ratings_of_new_items=_new(known_items, rated),
        ),
        per_user=pa.table({**per_user, **values}),
    )


def held_out_values(recommender: Recommender, held_out: Ratings, measure: str) -> np.ndarray:
    """One value of a measure per user of the held-out ratings, by which any stored recommender is compared with
    another; names that it does not know get its fallback."""
    champion_measure(measure, "ratings")
    return values_per_user(held_out_errors(recommender, held_out))[measure]


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


def _new(ids: np.ndarray, trained: np.ndarray) -> int:
    """How many of these ids are unknown, or were without a rating in training."""
    return int(np.count_nonzero((ids < 0) | ~trained[ids]))
