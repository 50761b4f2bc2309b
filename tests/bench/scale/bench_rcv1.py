"""RCV1 in full: 804,414 rows made from its true topics (103 of them, 47,236 words, about 77 in a row), on `local:2`
with 6 GiB for each worker. Every line is a fresh cluster driven by a fresh process. A round is what progress tells of:
an iteration, a merge of the hub, a shard of tags. Held-out rows are tagged after it: all 4,414,
by kNN 1,000. Memory and bytes are of both; `moved` is what the driver wrote and read, `between` what workers gave each
other or the driver.
"""

from pathlib import Path
from typing import Any

from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.models import BMLPL, BOMC
from tagcore.tag_model import TagModel
from tests.bench.scale.corpora import RCV1, rcv1
from tests.bench.scale.measured import Job, measured

QUERIES = 1000
MODELS: dict[str, TagModel] = {
    "BOMC, coupled, class shards": BOMC.published(parallel="classes"),
    "BOMC, independent": BOMC.published("independent"),
    "BMLPL, K = 50, 20 iterations of EM": BMLPL(n_topics=50, max_iter=20),
    "OneVsRestLinear": OneVsRestLinear(),
    "kNN": KNN(),
}


def run(data: Path | None, rows: int = RCV1) -> list[dict[str, Any]]:
    """Nothing without the topics of RCV1."""
    if data is None:
        return []
    made = rcv1(data, rows)
    jobs = [Job(what, model, made.features, RCV1, QUERIES if what == "kNN" else RCV1) for what, model in MODELS.items()]
    return [*made.costs, *map(measured, jobs)]
