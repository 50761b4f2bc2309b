"""`tagflow` from a cold start, a process for every answer: the median of five, after one that is not counted.

The models are trained on the demo's documents, and asked for the tags of one sentence: as a folder, and as what is in
service, which is found in the registry of a state folder first. Of the imports, the first row is
what no answer can do without (numpy, numba, scipy.sparse, pyarrow), the second what scikit-learn, pandas and MLflow
would add.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.corpus import Corpus
from tagcore.models import BOMC, MMSG, PMM, Blend
from tagcore.synthetic.corpus import demo_corpus
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tests.workspaces import make_champion

DOCUMENTS = 2000
TIMES = 5
TEXT = "we saw a planet through the telescope"
IMPORTS = {
    "python: import numpy, numba, scipy.sparse, pyarrow": "import numpy, numba, scipy.sparse, pyarrow.compute",
    "python: import sklearn, pandas, mlflow as well": "import numba, pyarrow.compute, sklearn.base, pandas, mlflow",
}


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows for imports, for commands that need no model, and for an answer of each model; needs no data."""
    rows = [_row(what, [sys.executable, "-c", code]) for what, code in IMPORTS.items()]
    command = [sys.executable, "-m", "infra.cli.main"]
    rows += [_row(f"tagflow {option}", [*command, option]) for option in ("--version", "--help")]
    with tempfile.TemporaryDirectory() as scratch:
        for folder in _taggers(Path(scratch)):
            rows.append(_row(f"tagflow tag: {folder.name}", [*command, "tag", TEXT, "--model", str(folder)]))
            make_champion(home := Path(scratch, "homes", folder.name), "demo", folder)
            rows.append(_row(f"tagflow tag: {folder.name} in service", [*command, "tag", TEXT, "--home", str(home)]))
    return rows


def _taggers(folder: Path) -> list[Path]:
    source = demo_corpus(DOCUMENTS)
    (block,) = source.blocks(rows=DOCUMENTS)
    corpus, texts = Corpus(block.documents, block.taggings, list(source.tags)), block.documents["text"].to_pylist()
    stored = []
    for model in (
        KNN(),
        OneVsRestLinear(),
        BOMC(variant="independent"),
        PMM(),
        Blend(["OneVsRestLinear", "KNN"]),
        MMSG(),
    ):
        vectoriser = Vectoriser(**model.wanted_features)
        model.fit(vectoriser.fit_transform(texts), corpus.tags)
        stored.append(folder / type(model).__name__)
        Tagger(vectoriser, model, corpus.tag_names).save(stored[-1])
    return stored


def _row(what: str, command: list[str]) -> dict[str, Any]:
    took = [_once(command) for _ in range(1 + TIMES)][1:]
    wall, cpu = (statistics.median(values) for values in zip(*took, strict=True))
    return {"what": what, "s": wall, "CPU s": cpu}


def _once(command: list[str]) -> tuple[float, float]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
