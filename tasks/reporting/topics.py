"""Topics over tags, of models that learn them: the tags that each topic stands for, for people to read."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tagcore.base import Estimator
from tagcore.fitting import model_class
from tagcore.models.topics import Topic, topics
from tagcore.store.datasets import stored_kind
from tagcore.tagger import Tagger

SHOWN = 20  # topics in a table or picture; the rest are counted
_NOTICEABLE = 0.005


def topics_of(model: Path) -> list[Topic]:
    """Heaviest first; none for a model without topics, which is then not even loaded."""
    known = _class_of(model)
    if hasattr(known, "list_topics"):
        tagger = Tagger.load(model)
        return tagger.model.list_topics(tagger.tag_names, tagger.vectoriser.terms_)
    if not hasattr(known, "topics_"):
        return []
    tagger = Tagger.load(model)
    return topics(tagger.model, tagger.tag_names)


def splits_of(model: Path, most: int) -> tuple[dict[str, Any], int] | None:
    """The first so many splits that topics were cut by, as a tree, and how many there are; None where none were."""
    if not has_splits(model):
        return None
    pmm: Any = Tagger.load(model).model
    return (pmm.split_tree(most), len(pmm.splits_)) if len(pmm.splits_) else None


def has_splits(model: Path) -> bool:
    """Whether the model's topics were cut out of a graph."""
    return hasattr(_class_of(model), "split_tree")


def _class_of(model: Path) -> type[Estimator]:
    if stored_kind(model) == "evaluation":
        return Estimator  # a rival, of which nothing is stored but that
    head = json.loads((model / "model" / "model.json").read_text(encoding="utf-8"))
    return model_class(head["class"], Estimator)


def noticeable_tags(topic: Topic) -> list[tuple[str, float]]:
    """The tags of a topic with their shares, but for those that would be shown as 0.00; always the first."""
    pairs = list(zip(topic.tags, topic.shares, strict=True))
    return pairs[:1] + [(tag, share) for tag, share in pairs[1:] if share >= _NOTICEABLE]


def topics_markdown(topics: Sequence[Topic]) -> str:
    """A table of the heaviest; of those that were cut out of a graph all, with words, documents and Ncut."""
    if topics and topics[0].documents is not None:
        return _graph_markdown(topics)
    lines = ["| weight | tags of the topic, with their shares |", "|---|---|"]
    for topic in topics[:SHOWN]:
        tags = ", ".join(f"{_cell(tag)} {share:.2f}" for tag, share in noticeable_tags(topic))
        lines.append(f"| {topic.weight:.3g} | {tags} |")
    more = f"\nThe {SHOWN} heaviest of {len(topics)} topics.\n" if len(topics) > SHOWN else ""
    return "\n".join(lines) + "\n" + more


def _graph_markdown(topics: Sequence[Topic]) -> str:
    lines = ["| topic | documents | Ncut | tags, with their shares | telling words |", "|---|---|---|---|---|"]
    for topic in topics:
        tags = ", ".join(f"{_cell(tag)} {share:.2f}" for tag, share in noticeable_tags(topic))
        ncut = "" if topic.ncut is None else f"{topic.ncut:.3f}"
        lines.append(
            f"| {topic.number} | {topic.documents:,} | {ncut} | {tags} | {', '.join(map(_cell, topic.words))} |"
        )
    about = "Ncut is that of the last split that parted the topic from another: 0 cuts no edge, 2 all of them."
    return "\n".join(lines) + f"\n\n{about}\n"


def _cell(tag: str) -> str:
    return " ".join(tag.split()).replace("|", "\\|")
