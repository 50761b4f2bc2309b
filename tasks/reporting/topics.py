"""Topics over tags, of models that learn them: the tags that each topic stands for, for people to read."""

import json
from collections.abc import Sequence
from pathlib import Path

from tagcore.base import Estimator
from tagcore.fitting import model_class
from tagcore.models.topics import Topic, topics
from tagcore.tagger import Tagger

SHOWN = 20  # topics in a table or picture; the rest are counted
_NOTICEABLE = 0.005


def topics_of(model: Path) -> list[Topic]:
    """Heaviest first; none for a model without topics, which is then not even loaded."""
    head = json.loads((model / "model" / "model.json").read_text(encoding="utf-8"))
    if not hasattr(model_class(head["class"], Estimator), "topics_"):
        return []
    tagger = Tagger.load(model)
    return topics(tagger.model, tagger.tag_names)


def noticeable_tags(topic: Topic) -> list[tuple[str, float]]:
    """The tags of a topic with their shares, but for those that would be shown as 0.00; always the first."""
    pairs = list(zip(topic.tags, topic.shares, strict=True))
    return pairs[:1] + [(tag, share) for tag, share in pairs[1:] if share >= _NOTICEABLE]


def topics_markdown(topics: Sequence[Topic]) -> str:
    """A table of the heaviest."""
    lines = ["| weight | tags of the topic, with their shares |", "|---|---|"]
    for topic in topics[:SHOWN]:
        tags = ", ".join(f"{_cell(tag)} {share:.2f}" for tag, share in noticeable_tags(topic))
        lines.append(f"| {topic.weight:.3g} | {tags} |")
    more = f"\nThe {SHOWN} heaviest of {len(topics)} topics.\n" if len(topics) > SHOWN else ""
    return "\n".join(lines) + "\n" + more


def _cell(tag: str) -> str:
    return " ".join(tag.split()).replace("|", "\\|")
