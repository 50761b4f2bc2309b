"""What users are recommended against what they liked of the held-out ratings: the evidence of top-N measures."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.corpus import Names
from tagcore.metrics.ranking import Hits, mark_hits
from tagcore.rating_model import UNKNOWN
from tagcore.ratings import Ratings
from tagcore.recommender import Recommender

LIKED = 0.75  # of the way from the lowest to the highest rating: 4 of 5 stars, 8 of 10
MOST_USERS = 10_000  # that are asked for; more would tell little and take long


@dataclass(frozen=True, eq=False)
class Recommendations:
    """The first items of some users, best first; `UNKNOWN` where nothing was left to recommend."""

    items: np.ndarray
    n_items: int  # that could be recommended

    def coverage(self, k: int) -> float:
        """The share of all items that is among the first k of anybody."""
        shown = np.unique(self.items[:, :k])
        return float(np.count_nonzero(shown != UNKNOWN) / self.n_items)


def liked(held_out: Ratings) -> np.ndarray:
    """True for the ratings that say that a user likes an item: those in the upper quarter of the scale, or where there
    is none those of at least the user's own mean."""
    values, users = held_out.table["value"].to_numpy(), held_out.table["user"].to_numpy()
    if held_out.scale is not None:
        low, high = held_out.scale
        return values >= low + LIKED * (high - low)
    counts = np.maximum(np.bincount(users), 1)
    means = np.bincount(users, values) / counts
    return values >= means[users] - 1e-9 * np.abs(means[users])  # of equal values, the mean may be above all of them


def users_to_ask(held_out: Ratings) -> np.ndarray:
    """Numbers of the users who like some held-out item, ascending; of very many, so many at even distances."""
    users = np.unique(held_out.table["user"].to_numpy()[liked(held_out)])
    if users.size <= MOST_USERS:
        return users
    return users[np.linspace(0, users.size - 1, MOST_USERS).astype(np.int64)]


def recommend_and_compare(
    recommender: Recommender, held_out: Ratings, users: np.ndarray, k: int
) -> tuple[Hits, Recommendations]:
    """Asks for the first k items of users, without those that they rated in training, and marks the liked ones.

    Users and items are matched by their names.
    """
    items = Names(held_out.item_names)
    ids = np.array([items.id(name) for name in recommender.item_names])  # new ones stand after all held-out ones
    names = [held_out.user_names[user] for user in users]
    top, _ = recommender.model.top_k(recommender.user_ids(names), k)
    nothing = len(items) + np.arange(top.shape[1])  # ids that nobody likes, different in every row
    named = np.where(top == UNKNOWN, nothing, ids[top])
    row_of_user = np.full(len(held_out.user_names), -1)
    row_of_user[users] = np.arange(users.size)
    rows = row_of_user[held_out.table["user"].to_numpy()]
    right = liked(held_out) & (rows >= 0)
    cells = np.ones(right.sum(), np.float32), (rows[right], held_out.table["item"].to_numpy()[right])
    truth = sp.csr_matrix(cells, shape=(users.size, len(items) + top.shape[1]))
    return mark_hits(truth, named).padded(k), Recommendations(top, len(recommender.item_names))
