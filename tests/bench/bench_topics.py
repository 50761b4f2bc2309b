"""What BMLPL's topics stand for: 20 topics of each set whose tags have names, heaviest first, as the BMLPL paper shows
those of eurlex (whose tags are but numbers here). One seed, default settings. Beside a tag stands its share of the
topic; the first five that have a hundredth of it or more.
"""

from pathlib import Path
from typing import Any

from tagcore.models import BMLPL
from tagcore.models.topics import topics
from tagcore.readers.open import open_source
from tests.problems import matrices

SETS = ("bibtex", "delicious", "reuters21578")
TOPICS, LEAST = 20, 0.01


def run(data: Path | None) -> list[dict[str, Any]]:
    """A row for each topic; nothing without data."""
    return [] if data is None else [row for name in SETS for row in _rows(data / name)]


def _rows(folder: Path) -> list[dict[str, Any]]:
    source = open_source(folder)
    X, Y, train = matrices(source)
    found = topics(BMLPL(n_topics=TOPICS).fit(X[train], Y[train]), list(source.tags))
    rows = []
    for topic in found:
        shares = [(tag, share) for tag, share in zip(topic.tags, topic.shares, strict=True) if share >= LEAST]
        shown = ", ".join(f"{tag} {share:.2f}" for tag, share in shares)
        rows.append({"data": folder.name, "weight": topic.weight, "tags": shown})
    return rows
