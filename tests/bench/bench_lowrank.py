"""The low-rank baselines of the BMLPL paper: AUC, precision and CPU seconds of one thread, with the paper's AUC beside.

Settings were chosen for per-row AUC on a fifth of the training documents. With a fifth of the labels, BMLPL is there,
too, at the same rank; `mask` tells a model which cells were looked at, elsewhere hidden labels count as absent.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.baselines import BCS, CPLST, LEML, WSABIE
from tagcore.metrics.auc import roc_auc
from tagcore.models import BMLPL
from tagcore.tag_model import TagModel
from tests.bench.timing import cpu
from tests.problems import noisy, official_split, precision

REVEALED = 0.2
PAPER = {
    "bibtex": {"LEML": 0.9040, "CPLST": 0.8882, "WSABIE": 0.9182, "BCS": 0.8614},
    "delicious": {"LEML": 0.8894, "CPLST": 0.8834, "WSABIE": 0.8561, "BCS": 0.8000},
    "bibtex, 20 % of labels": {"BMLPL": 0.8420, "LEML": 0.8332, "BCS": 0.7871},
}

Split = tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]


def run(data: Path | None) -> list[dict[str, Any]]:
    """A row for each model and data set; nothing without data."""
    if data is None:
        return []
    for model in (*_on_bibtex(), *_on_bibtex_revealed()):
        model.set_params(**{_rank_of(model): 2}).fit(*noisy())  # compiles
        model.top_k(noisy()[0])
    bibtex, delicious = (official_split(data / name) for name in ("bibtex", "delicious"))
    rows = [_quality("bibtex", model, bibtex) for model in _on_bibtex()]
    rows += [_quality("delicious", model, delicious) for model in _on_delicious()]
    X, Y, X_test, Y_test = bibtex
    seen = sp.csr_matrix((np.random.default_rng(0).random(Y.shape) < REVEALED).astype(np.float32))
    revealed = X, Y.multiply(seen).tocsr(), X_test, Y_test
    for model in _on_bibtex_revealed():
        name = f"bibtex, {REVEALED:.0%} of labels".replace("%", " %")
        rows.append(_quality(name, model, revealed))
        if isinstance(model, BMLPL):
            model.set_params(missing="mask")
        if isinstance(model, LEML | BCS | BMLPL):
            rows.append(_quality(name, model, revealed, seen))
    return rows


def _on_bibtex() -> list[TagModel]:
    leml = [LEML(0.4), LEML(0.4, "logistic"), LEML(0.4, "squared_hinge", alpha=20.0)]
    return [*leml, CPLST(0.4, alpha=5.0), WSABIE(0.4), BCS(0.4)]


def _on_delicious() -> list[TagModel]:
    """The costs of the losses other than the squared one grow with the rank, and those of BCS with its square."""
    leml = [LEML(0.4, alpha=30.0), LEML(0.1, "logistic", alpha=15.0), LEML(0.1, "squared_hinge", alpha=100.0)]
    return [*leml, CPLST(0.4, alpha=50.0), WSABIE(0.4, max_iter=10, max_norm=1.5), BCS(0.2, rounds=3)]


def _on_bibtex_revealed() -> list[TagModel]:
    bmlpl = BMLPL(n_topics=0.4, tau=0.2, max_iter=60)
    leml = [LEML(0.4, alpha=3.0), LEML(0.4, "logistic", alpha=3.0)]
    return [bmlpl, *leml, CPLST(0.4, alpha=5.0), WSABIE(0.4), BCS(0.4)]


def _rank_of(model: TagModel) -> str:
    """The name of the parameter that is the model's rank."""
    return "n_topics" if isinstance(model, BMLPL) else "rank"


def _quality(name: str, model: Any, split: Split, observed: sp.csr_matrix | None = None) -> dict[str, Any]:
    X, Y, X_test, Y_test = split
    told = {} if observed is None else {"observed": observed}
    fitting = cpu(lambda: model.fit(X, Y, **told))
    scores: list[tuple[slice, np.ndarray]] = []
    scoring = cpu(lambda: scores.extend(model.score_blocks(X_test)))
    auc = roc_auc(Y_test, lambda: scores)
    best = np.concatenate([np.argsort(-block, axis=1, kind="stable")[:, :5] for _, block in scores])
    loss = f" {model.loss}" if isinstance(model, LEML) else ""
    published = PAPER[name].get(type(model).__name__)
    return {
        "what": f"{name}: {type(model).__name__}{loss}, rank {getattr(model, _rank_of(model)):g} L"
        + (", mask" if told else ""),
        "AUC per row": auc.row,
        **({} if published is None else {"the paper's": published}),
        "macro": auc.macro,
        "micro": auc.micro,
        **{f"P@{k}": precision(Y_test, best, k) for k in (1, 3, 5)},
        "s to fit": fitting,
        "s to score": scoring,
    }
