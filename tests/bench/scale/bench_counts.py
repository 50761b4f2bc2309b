"""PMM, which learns from counts of words, on the rows of RCV1 in full (see above), on `local:2` with 6 GiB for each
worker. A round is a cut of its graph or an iteration of its mixture. `rerank` keeps the documents themselves, which
the driver holds; `soft` keeps sums alone.
"""

from pathlib import Path
from typing import Any

from tagcore.models import PMM
from tagcore.tag_model import TagModel
from tests.bench.scale.corpora import RCV1, rcv1
from tests.bench.scale.measured import Job, measured

MODELS: dict[str, TagModel] = {
    "PMM, soft, K = 300": PMM(scoring="soft"),
    "PMM, rerank, K = 300": PMM(),
}


def run(data: Path | None, rows: int = RCV1) -> list[dict[str, Any]]:
    """Nothing without the topics of RCV1."""
    if data is None:
        return []
    counts = rcv1(data, rows, counts=True)
    return [counts.costs[-1], *(measured(Job(what, m, counts.features, RCV1, RCV1)) for what, m in MODELS.items())]
