"""Kernels that were compiled ahead are those that a run then asks for."""

import subprocess
import sys

CODE = """
import tempfile
from pathlib import Path

from tagcore import Corpus
from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.baselines.knn.kernel import score_rows, suggest_rows
from tagcore.baselines.linear.kernels.dual_coordinate import dual_descent
from tagcore.features.build import VECTORISER, make_features
from tagcore.features.rows import StoredRows
from tagcore.features.split import Split
from tagcore.fitting import fit_calibrated
from tagcore.kernels.sparse import multiply_dense_fused
from tagcore.metrics.evaluate_model import evaluate
from tagcore.metrics.kernels.hits import mark_hits
from tagcore.metrics.kernels.row_ranking import rank_dense
from tagcore.precompile import compile_kernels
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser

compile_kernels()
kernels = (score_rows, suggest_rows, dual_descent, multiply_dense_fused, mark_hits, rank_dense)
ahead = {kernel.__name__: set(kernel.signatures) for kernel in kernels}
with tempfile.TemporaryDirectory() as scratch:
    corpus, features = Path(scratch, "corpus"), Path(scratch, "features")
    texts = [f"apples {word} number {word}" for word in ("red", "green", "sour") * 40]
    Corpus.from_texts(texts, [["fruit", text.split()[1]] for text in texts]).save(corpus)
    make_features(Dataset.open(corpus, "corpus"), features, Vectoriser(), Split(test=0.3))
    learnt, held_out = StoredRows.open(features, "train"), StoredRows.open(features, "test")
    names = Dataset.open(features, "features").names("tags")
    for model in (KNN(), OneVsRestLinear()):
        calibrator = fit_calibrated(model, learnt, "isotonic")
        folder = Path(scratch, type(model).__name__)
        Tagger(Vectoriser.load(features / VECTORISER), model, names, calibrator).save(folder)
        evaluate(Tagger.load(folder), held_out)
    for kernel in kernels:
        assert ahead[kernel.__name__], kernel
        assert set(kernel.signatures) == ahead[kernel.__name__], kernel
"""


def test_a_run_finds_its_kernels_compiled():
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=600)
