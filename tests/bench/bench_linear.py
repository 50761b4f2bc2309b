"""Linear baselines against scikit-learn: CPU seconds per tag of eurlex4k, for the same problem solved as closely.

The least of three runs of each side in turn. Where scikit-learn has two ways, both are timed and the faster counts:
LinearSVC from the dual and the primal, LogisticRegression by liblinear and L-BFGS. Its Ridge solves all tags at once by
Cholesky, its classifiers learn one tag after another; ours learn these tags, or all where tags share the work. What
the models are worth is in the experiments.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.linear_model import Ridge as RidgePeer
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from tagcore.baselines import OneVsRestLinear, OneVsRestLogistic, PassiveAggressive, Ridge
from tagcore.tag_model import TagModel
from tests.bench.timing import least_cpu
from tests.problems import official_split, precision

SAME_TAGS = slice(7, None, 125)
RUNS = 3

Split = tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]


def run(data: Path | None) -> list[dict[str, Any]]:
    """Two rows for each model, ours and the peer's; nothing without data."""
    if data is None:
        return []
    split = official_split(data / "eurlex4k")
    rows = []
    for ours, peers in _pairs():
        ours.fit(split[0][:200], split[1][:200, :50])  # compiles
        rows += _against(ours, peers, split)
    return rows


def _pairs() -> list[tuple[TagModel, list[Any]]]:
    """Each of ours beside scikit-learn's ways to the same problem."""
    linear, logistic = OneVsRestLinear(prune=0), OneVsRestLogistic(prune=0, fit_intercept=False)
    online, ridge = PassiveAggressive(shuffle=False), Ridge(fit_intercept=False)
    same = {"loss": "hinge", "penalty": None, "learning_rate": "pa2", "shuffle": False, "tol": None}
    exact: dict[str, Any] = {"C": logistic.C, "fit_intercept": False, "tol": logistic.tol}
    # L-BFGS looks at the slope of a mean: at liblinear's tolerance it stops where the objective is ten times the least
    converged = {"solver": "lbfgs", "tol": 1e-4 * logistic.tol, "max_iter": 2000}
    return [
        (linear, [LinearSVC(C=linear.C, dual=dual, tol=linear.tol, random_state=0) for dual in (True, False)]),
        (logistic, [LogisticRegression(**exact, solver="liblinear"), LogisticRegression(**exact | converged)]),
        (online, [SGDClassifier(**same, eta0=online.C, max_iter=online.max_iter)]),
        (ridge, [RidgePeer(alpha=ridge.alpha, fit_intercept=False, solver="cholesky")]),
    ]


def _against(ours: TagModel, peers: list[Any], split: Split) -> list[dict[str, Any]]:
    """The same few tags: seconds of ours and of the fastest peer, how far scores are apart, and precision of both."""
    X, Y, X_test, Y_test = split
    some = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))[SAME_TAGS]
    learnt = np.arange(Y.shape[1]) if isinstance(ours, PassiveAggressive | Ridge) else some
    unit, unit_test = normalize(X), normalize(X_test)
    fits = [partial(_fit_peer, peer, unit, _targets(peer, Y, learnt, some)) for peer in peers]
    seconds, *peer_seconds = least_cpu(RUNS, partial(ours.fit, X, Y[:, learnt]), *fits)
    seconds /= learnt.size
    fastest = int(np.argmin(peer_seconds))
    best_peer, machines = peers[fastest], fits[fastest]()
    peer_size = learnt.size if isinstance(best_peer, RidgePeer) else some.size
    columns = np.searchsorted(learnt, some)
    scores = np.concatenate([block[:, columns] for _, block in ours.score_blocks(X_test)])
    if isinstance(best_peer, RidgePeer):
        found = machines[0].predict(unit_test)[:, columns]
    else:
        found = np.column_stack([machine.decision_function(unit_test) for machine in machines])
    best, peer_best = (np.argsort(-s, axis=1, kind="stable") for s in (scores, found))
    what = f"eurlex4k, {some.size} tags, {X.shape[0]} documents: "
    return [
        {
            "what": what + type(ours).__name__,
            "s per tag": seconds,
            "scores apart": float(np.abs(scores - found).max()),
            "P@1": precision(Y_test[:, some], best, 1),
        },
        {
            "what": f"{what}scikit-learn's {_way(best_peer)}",
            "s per tag": peer_seconds[fastest] / peer_size,
            "times ours": peer_seconds[fastest] / peer_size / seconds,
            "P@1": precision(Y_test[:, some], peer_best, 1),
        },
    ]


def _targets(peer: Any, Y: sp.csr_matrix, learnt: np.ndarray, some: np.ndarray) -> list[np.ndarray]:
    """What the peer fits one after another: all tags where it takes them at once, else each of a few."""
    if isinstance(peer, RidgePeer):
        return [(Y[:, learnt] > 0).toarray().astype(np.float64)]
    return [Y[:, [tag]].toarray().ravel() > 0 for tag in some]


def _fit_peer(peer: Any, X: sp.csr_matrix, targets: list[np.ndarray]) -> list[Any]:
    return [clone(peer).fit(X, target) for target in targets]


def _way(peer: Any) -> str:
    """The peer's class, and the way that it took."""
    if isinstance(peer, LinearSVC):
        return f"LinearSVC, {'dual' if peer.dual else 'primal'}"
    return ", ".join([type(peer).__name__, *filter(None, [getattr(peer, "solver", None)])])
