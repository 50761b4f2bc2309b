"""Users to try a recommender on: some who have held-out ratings, so that one sees what they did like."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from prefect import task

from tagcore.features.rating_split import load_side
from tagcore.ratings import Ratings
from tagcore.recommender import Recommender
from tasks.registry.client import Registry

_LIKED = 3  # held-out items that are told beside the recommendations


@dataclass(frozen=True)
class RecommendationExample:
    """What a user is recommended, beside the held-out items that the user did rate highest; in titles where there are
    some."""

    user: str
    recommended: list[tuple[str, float]]
    liked: list[tuple[str, float]]  # items and ratings that the model never saw

    def told(self) -> str:
        """The example as a person reads it."""
        told = ", ".join(f"{item} {score:.2f}" for item, score in self.recommended) or "nothing is left to recommend"
        liked = ", ".join(f"{item} {value:.3g}" for item, value in self.liked)
        return f"  for {self.user}\n  → {told}   (rated highest of what was held out: {liked})"


@task(name="recommend", task_run_name="recommend by {uri}")
def recommend_examples(
    data: Path, prepared: Path, uri: str, registry: Registry, n: int = 3, k: int = 5
) -> list[RecommendationExample]:
    """Asks the model in service, fetched from the registry, for the items of a few users."""
    recommender = Recommender.load(registry.fetch(uri))
    held_out = load_side(prepared, "test")
    users, items, values = (held_out.table[column].to_numpy() for column in ("user", "item", "value"))
    examples = []
    for name in sample_users(prepared, n):
        mine = np.flatnonzero(users == held_out.user_names.index(name))
        best = mine[np.argsort(-values[mine], kind="stable")[:_LIKED]]
        liked = [(_title(held_out, int(items[row])), float(values[row])) for row in best]
        known = bool(recommender.user_ids([name])[0] >= 0)
        recommended = [(r.told, r.score) for r in recommender.recommend(name, k)] if known else []
        examples.append(RecommendationExample(name, recommended, liked))
    return examples


def _title(ratings: Ratings, item: int) -> str:
    return (ratings.item_titles and ratings.item_titles[item]) or ratings.item_names[item]


def sample_users(prepared: Path, n: int) -> list[str]:
    """Names of the first users who have held-out ratings."""
    held_out = load_side(prepared, "test")
    return [held_out.user_names[user] for user in np.unique(held_out.table["user"].to_numpy())[:n]]
