"""Topics over tags, to be read: the first tags of each, and how much each explains."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class TopicModel(Protocol):
    """A fitted model that has topics."""

    @property
    def topics_(self) -> np.ndarray:
        """(tags, topics), columns sum to one."""

    label_counts_: np.ndarray


@dataclass(frozen=True)
class Topic:
    """One topic: the share of all positives that it explains, its first tags and their shares of it.

    Of a topic that was cut out of a graph the weight is its share of the documents; it also has words, documents and
    the Ncut of the last split that bounds it (None where nothing was cut).
    """

    number: int
    weight: float
    tags: tuple[str, ...]
    shares: tuple[float, ...]
    words: tuple[str, ...] = ()
    documents: int | None = None
    ncut: float | None = None


def topics(model: TopicModel, names: Sequence[str] | None = None, top: int = 5) -> list[Topic]:
    """Lists all topics of a model, the weightiest first, with their `top` tags; ties to the lower tag id.

    Without `names` tags are called by their ids.
    """
    V = model.topics_
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    if names is not None and len(names) != len(V):
        raise ValueError(f"{len(names)} names for {len(V)} tags")
    weights = topic_weights(model)
    best = np.argsort(-V, axis=0, kind="stable")[:top]
    by_weight = []
    for k in np.argsort(-weights, kind="stable"):
        tags = tuple(str(names[i]) if names is not None else str(i) for i in best[:, k])
        by_weight.append(Topic(int(k), float(weights[k]), tags, tuple(V[best[:, k], k].tolist())))
    return by_weight


def topic_weights(model: TopicModel) -> np.ndarray:
    """The share of the positives that every topic explains (equal shares where there was none)."""
    counts = model.label_counts_.sum(axis=0, dtype=np.float64)
    total = counts.sum()
    return counts / total if total > 0 else np.full(counts.size, 1 / counts.size)
