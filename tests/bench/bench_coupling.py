"""Coupling, as the BOMC paper's Figure 6: how much higher the macro-F1 of coupled tags is than that of independent
ones, 200 (coupled - independent) / (coupled + independent), labelled by class mass, against the documents learnt from.

The paper has RCV1's topics, industries and regions. Real words are to be had for 6,000 stories with their topics alone.
Rows of the other groups are made from their true labels, where `rcv1-v2.industries.qrels.gz` or
`rcv1-v2.regions.qrels.gz` lies beside the topics; so are the topics' own, to tell what made words change. Means of five
random splits with their 95 % intervals (Student's t); BOMC as it comes.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from tagcore.metrics.evaluate_model import evaluate
from tagcore.metrics.intervals import t_interval
from tagcore.models import BOMC
from tagcore.readers.open import open_source
from tagcore.readers.qrels import read_qrels
from tagcore.synthetic.newswire import rcv1_shaped
from tests.problems import matrices

GROUPS = ("topics", "industries", "regions")
SIZES, TESTED, MADE = (250, 500, 1000, 2000, 4000), 1_800, 12_000
SPLITS = 5
MEASURE = "macro-F1 (class-mass)"


def run(data: Path | None) -> list[dict[str, Any]]:
    """A row for each group of labels and number of documents; nothing without data."""
    if data is None:
        return []
    X, Y, _ = matrices(open_source(data / "rcv1" / "rcv1subset1_top944.mat"))
    rows = _rows("topics, real words", normalize(X), Y)
    for group in GROUPS:
        labels = data / "rcv1" / f"rcv1-v2.{group}.qrels.gz"
        if labels.exists():
            ids, Y, names = read_qrels(labels)
            X, Y, _ = matrices(rcv1_shaped(Y, names, ids=ids, n_documents=MADE))
            rows += _rows(f"{group}, made words", normalize(X), Y)
    return rows


def _rows(what: str, X: sp.csr_matrix, Y: sp.csr_matrix) -> list[dict[str, Any]]:
    found = np.array([_of_split(X, Y, seed) for seed in range(SPLITS)])  # split × size × variant
    rows = []
    for at, size in enumerate(SIZES):
        coupled, independent = found[:, at].T
        relative = t_interval(200 * (coupled - independent) / (coupled + independent))
        rows.append(
            {
                "what": what,
                "documents": size,
                "coupled": float(coupled.mean()),
                "independent": float(independent.mean()),
                "relative difference, %": f"{relative.value:+.2f} ({relative.low:+.2f} to {relative.high:+.2f})",
            }
        )
    return rows


def _of_split(X: sp.csr_matrix, Y: sp.csr_matrix, seed: int) -> list[list[float]]:
    """Macro-F1 of coupled and independent tags, for every number of documents."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    tested, rest = order[:TESTED], order[TESTED:]
    return [
        [_macro_f1(X, Y, rest[:size], tested, variant, seed) for variant in ("coupled", "independent")]
        for size in SIZES
    ]


def _macro_f1(
    X: sp.csr_matrix, Y: sp.csr_matrix, learnt: np.ndarray, tested: np.ndarray, variant: str, seed: int
) -> float:
    model = BOMC.published(variant=variant, random_state=seed).fit(X[learnt], Y[learnt])
    counts = np.bincount(Y[learnt].indices, minlength=Y.shape[1])
    facts = {"train_counts": counts, "train_documents": learnt.size, "labelling": ["class-mass"], "ks": [1]}
    return evaluate(model, X[tested], Y[tested], **facts).summary[MEASURE].value
