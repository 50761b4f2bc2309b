"""What a stored tagger took to train, and takes to keep and to ask: columns of tables that compare costs."""

import time
from dataclasses import replace
from pathlib import Path

from tagcore.features.rows import Rows
from tagcore.metrics.catalogue import compute
from tagcore.metrics.costs import Costs
from tagcore.metrics.evaluation import TagEvaluation
from tagcore.metrics.intervals import Estimate
from tagcore.metrics.measure import SUGGESTED
from tagcore.tagger import Tagger
from tasks.cache import read_record

TRAIN_CPU_SECONDS, WORKING_MIB = "train_cpu_seconds", "working_mib"  # in the record of a stored model
ASKED = 2_000  # documents at once


def costs_of(model: Path, tagger: Tagger, rows: Rows) -> Costs:
    """Reads what training took, and asks for the tags of many documents at once."""
    record = read_record(model)
    X, _ = rows.load(slice(0, min(ASKED, rows.n_rows)))
    tagger.top_k(X[:20], SUGGESTED)
    start = time.process_time()
    tagger.top_k(X, SUGGESTED)
    microseconds = 1e6 * (time.process_time() - start) / X.shape[0]
    unknown = float("nan")
    trained, working = (float(record.get(name, unknown)) for name in (TRAIN_CPU_SECONDS, WORKING_MIB))
    return Costs(trained, microseconds, folder_megabytes(model / "model"), working)


def with_costs(evaluation: TagEvaluation, costs: Costs) -> TagEvaluation:
    """Puts costs beside the measures of quality."""
    values = {name: Estimate(float(value)) for name, value in compute("costs", costs).items()}  # type: ignore[arg-type]
    return replace(evaluation, summary=evaluation.summary | values)


def folder_megabytes(folder: Path) -> float:
    """Adds up the files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
