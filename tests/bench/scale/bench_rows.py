"""Cost per row as rows grow from 100,000 to 800,000 of RCV1's, on `local:2`, reading included. A cost that is flat has
a ratio of 1 to that of the fewest rows. BMLPL does three iterations of EM, K = 50; its cost is per row and iteration.
A kNN query looks at every document that shares a word, so its cost is per row of the index, for 500 queries.
"""

from pathlib import Path
from typing import Any

from tagcore.baselines import KNN
from tagcore.models import BMLPL, BOMC
from tagcore.tag_model import TagModel
from tests.bench.scale.corpora import RCV1_HELD_OUT, rcv1
from tests.bench.scale.measured import Job, measured

SIZES = (100_000, 200_000, 400_000, 800_000)
QUERIES = 500
ITERATIONS = 3
MODELS: dict[str, TagModel] = {
    "BOMC, coupled, class shards": BOMC.published(parallel="classes"),
    "BOMC, independent": BOMC.published("independent"),
    "BMLPL, K = 50": BMLPL(n_topics=50, max_iter=ITERATIONS),
    "kNN": KNN(),
}


def run(data: Path | None, rows: int = max(SIZES)) -> list[dict[str, Any]]:
    """Measures with up to so many rows; nothing without the topics of RCV1."""
    if data is None:
        return []
    made = rcv1(data, rows + min(RCV1_HELD_OUT, rows // 9 + 1))
    sizes = [rows * size // max(SIZES) for size in SIZES]
    return [row for what, model in MODELS.items() for row in grown(what, model, made.features, sizes)]


def grown(what: str, model: TagModel, features: Path, sizes: list[int]) -> list[dict[str, Any]]:
    """A row for every size, each beside the first."""
    rows = []
    for size in sizes:
        found = measured(Job(what, model, features, size, QUERIES))
        rows.append(
            {
                "what": f"{what}, {found['rows']:,} rows",
                "s": found["s"],
                "µs per row": 1e6 * found["s"] / found["rows"] / (ITERATIONS if isinstance(model, BMLPL) else 1),
                "ms a query": found["ms to tag a row"],
                "ns a query and row": 1e6 * found["ms to tag a row"] / found["rows"] if what == "kNN" else None,
                "peak MiB, workers": found["peak MiB, workers"],
                "peak MiB, driver": found["peak MiB, driver"],
            }
        )
        by = "ns a query and row" if what == "kNN" else "µs per row"
        rows[-1]["ratio"] = rows[-1][by] / rows[0][by]
    return rows
