"""A tagging site's shape: 1,000,000 planted bookmarks, 100,000 tags, 150,000 words, on `local:2` with 6 GiB for each
worker, as above, with the models whose cost allows it: n × L is never formed. The measures are of the first tags of
1,000 held-out rows.
"""

from pathlib import Path
from typing import Any

from tagcore.baselines import KNN
from tagcore.models import BMLPL
from tagcore.tag_model import TagModel
from tests.bench.scale.corpora import DELICIOUS, delicious
from tests.bench.scale.measured import Job, measured

QUERIES = 1000
MODELS: dict[str, TagModel] = {
    "BMLPL, K = 50, 20 iterations of EM": BMLPL(n_topics=50, max_iter=20),
    "BMLPL, K = 50, one pass of online EM": BMLPL(n_topics=50, inference="online", batch_rows=50_000, max_iter=1),
    "kNN": KNN(),
}


def run(data: Path | None, rows: int = DELICIOUS) -> list[dict[str, Any]]:
    made = delicious(rows)
    jobs = [Job(what, model, made.features, DELICIOUS, QUERIES) for what, model in MODELS.items()]
    return [*made.costs, *map(measured, jobs)]
