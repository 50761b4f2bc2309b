"""Compiles the kernels of the usual models and measures, beside a first run that is still reading its documents:
`python -m tagcore.precompile`. Compiled kernels are kept on disk, where the run finds them.
"""

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tagcore.base import load_estimator
from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.baselines.linear.kernels.dual_coordinate import dual_descent
from tagcore.corpus import names_table
from tagcore.features.build import VECTORISER, rows_table
from tagcore.features.rows import StoredRows
from tagcore.fitting import fit_calibrated, warm_up
from tagcore.kernels.compiled import is_on_disk
from tagcore.metrics.evaluate_model import evaluate
from tagcore.store.datasets import write_dataset
from tagcore.text import Vectoriser

_DOCUMENTS, _WORDS, _TAGS = 60, 30, 6
_NAMES = [f"tag {tag}" for tag in range(_TAGS)]


def is_compiled() -> bool:
    """Whether that was done before."""
    return is_on_disk(dual_descent)


def compile_kernels() -> None:
    """Trains, stores and measures each model once, on a few rows that are read as those of a run are."""
    with tempfile.TemporaryDirectory() as scratch:
        features = Path(scratch, "features")
        _write_rows(features)
        learnt, held_out = StoredRows.open(features, "train"), StoredRows.open(features, "test")
        counts = np.ones(_TAGS, np.int64)
        for model in (KNN(), OneVsRestLinear()):
            warm_up(model, learnt)
            fit_calibrated(model, learnt, "isotonic")
            model.save(Path(scratch, type(model).__name__))
            stored = load_estimator(Path(scratch, type(model).__name__))
            evaluate(stored, held_out, tag_names=_NAMES, train_counts=counts, train_documents=_DOCUMENTS)


def _write_rows(folder: Path) -> None:
    random = np.random.default_rng(0)
    words = sp.random(_DOCUMENTS, _WORDS, 0.3, format="csr", dtype=np.float32, random_state=random)
    tags = sp.csr_matrix(random.random((_DOCUMENTS, _TAGS)) < 0.4, dtype=np.float32)
    with write_dataset(folder, "features") as writer:
        for side in ("train", "test"):
            writer.append(side, rows_table(np.arange(_DOCUMENTS), words, tags))
        writer.append("tags", names_table(_NAMES))
        (writer.folder / VECTORISER).mkdir()
        vectoriser = Vectoriser()
        vectoriser.fit_frequencies([vectoriser.count_bags(words, _WORDS)], [f"word {word}" for word in range(_WORDS)])
        vectoriser.save(writer.folder / VECTORISER)


if __name__ == "__main__":
    compile_kernels()
