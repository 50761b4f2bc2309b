"""Cost per row as rows grow from 100,000 to 800,000 of RCV1's, on `local:2`, reading included. A cost that is flat has
a ratio of 1 to that of the fewest rows. BMLPL does three iterations of EM, K = 50; its cost is per row and iteration.
A kNN query looks at every document that shares a word, so its cost is per row of the index, for 500 queries.
"""

from pathlib import Path
from typing import Any

from tagcore.baselines import KNN
from tagcore.models import BMLPL, BOMC
from tagcore.tag_model import TagModel
from tests.bench.scale.corpora import rcv1, rows_wanted
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


def run(data: Path | None) -> list[dict[str, Any]]:
    """Nothing without the topics of RCV1."""
    if data is None:
        return []
    made = rcv1(data)
    return [row for what, model in MODELS.items() for row in grown(what, model, made.features)]


def grown(what: str, model: TagModel, features: Path) -> list[dict[str, Any]]:
    """A row for every size, each beside the first."""
    rows = []
    for size in sizes():
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


def sizes() -> list[int]:
    """Smaller by one factor where the corpus is, to try this out."""
    most = rows_wanted(max(SIZES)) * 9 // 10 if rows_wanted(max(SIZES)) < max(SIZES) else max(SIZES)
    return [most * size // max(SIZES) for size in SIZES]
