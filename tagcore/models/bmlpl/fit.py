"""From the parameters of a BMLPL to its learner, and from what it learnt to the fitted state."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import InMemory, Rows, load_all
from tagcore.metrics.auc import roc_auc
from tagcore.models.bmlpl import initial as begin
from tagcore.models.bmlpl.em import EM, EMSettings, expect
from tagcore.models.bmlpl.gibbs import GibbsLearner, GibbsSettings
from tagcore.models.bmlpl.online import OnlineEM
from tagcore.models.bmlpl.scores import Draws, scores
from tagcore.models.bmlpl.solve import MOST_EXACT_WORDS
from tagcore.numeric.normalise import normalise_rows
from tagcore.shards import Arrays, Executor, Shards
from tagcore.training import EarlyStop, FitContext, Measures, train


@dataclass(frozen=True)
class FittedState:
    """What a model knows: parameters, the two statistics with the rows they are scaled to, and how it came to them."""

    draws: Draws
    tau: np.ndarray
    counts: np.ndarray  # (labels, topics): how often a label came from a topic
    curvature: np.ndarray  # (words, topics): the diagonal of X' Ω X
    rows: int = 0
    updates: int = 0  # minibatches so far; an iteration over all rows counts as a pass
    history: tuple[float, ...] = ()

    def arrays(self, dtype: str) -> Arrays:
        """The arrays that training goes on from."""
        V, W, r = (draws.mean(axis=0) for draws in self.draws)
        kept = {"V": np.ascontiguousarray(V.T), "W": W, "counts": self.counts, "curvature": self.curvature}
        return {name: values.astype(dtype) for name, values in kept.items()} | {"r": r.astype(float), "tau": self.tau}


def learn(model: Any, rows: Rows, known: FittedState | None, seed: int, context: FitContext) -> FittedState:
    """The state after training on all rows, from what is known or from the start; `model` is asked for its parameters
    alone."""
    rows, mask = without_unobserved(model, rows, context.observed)
    validate, stop = None, None
    if model.early_stopping:
        held, kept = held_out(rows.n_rows, model.validation_fraction, seed)
        X, Y = load_all(rows.select(held))
        validate, stop = row_auc(scaled(model, X), Y), EarlyStop("auc", model.patience)
        rows, mask = rows.select(kept), None if mask is None else mask[kept]
    shards = begin.row_parts(rows, mask, preparation(model), model.n_shards, context.executor)
    arrays = first(model, shards, rows, known, seed)
    n = rows.n_rows
    per_pass = max(1, min(-(-n // model.batch_rows), n // len(shards)))
    updates = 0
    if model.inference == "online":
        updates = known.updates if known else 0
        learner: Any = online(model, settings(model), arrays, n, per_pass, updates, seed)
        rounds = per_pass * model.max_iter
    elif model.inference == "gibbs":
        learner = GibbsLearner(chain(model), arrays, seed)
        rounds = learner.settings.rounds
    else:
        learner, rounds = EM(settings(model), arrays, validate), model.max_iter

    trained = train(
        learner,
        shards,
        max_rounds=rounds,
        progress=context.progress,
        early_stop=stop,
        checkpoints=context.checkpoints,
    )
    done = len(trained.history)
    if model.inference == "gibbs":  # the statistics of its last draw, which the chain itself does not need
        last = {name: trained.arrays[name] for name in ("V", "W", "r")}
        trained.arrays |= shards.update(expect, **last, geo=False)
    updates += done if model.inference == "online" else done * per_pass
    return fitted(trained.arrays, n, updates, trained.history)


def without_unobserved(model: Any, rows: Rows, observed: sp.csr_matrix | None) -> tuple[Rows, sp.csr_matrix | None]:
    """The rows without tags that were not looked at, in memory where there are such, and the mask of cells to learn
    from where others are left out."""
    if observed is None:
        if model.missing == "mask":
            raise ValueError('missing="mask" needs the argument observed of fit')
        return rows, None
    X, Y = load_all(rows)
    mask = observed.astype(model.dtype) if model.missing == "mask" else None
    return InMemory(X, sp.csr_matrix(Y.multiply(observed))), mask


def learn_batch(
    model: Any, X: sp.csr_matrix, Y: sp.csr_matrix, known: FittedState | None, seed: int, executor: Executor
) -> FittedState:
    """One step of online EM; the statistics so far are scaled to all rows seen."""
    rows = InMemory(X, Y)
    shards = begin.row_parts(rows, None, preparation(model), model.n_shards, executor)
    arrays = first(model, shards, rows, known, seed)
    seen, updates, history = (known.rows, known.updates, known.history) if known else (0, 0, ())
    n = seen + rows.n_rows
    for name in ("counts", "curvature") if seen else ():
        arrays[name] = arrays[name] * arrays[name].dtype.type(n / seen)
    diagonal = replace(settings(model), cg_steps=model.cg_steps)
    trained = train(online(model, diagonal, arrays, n, 1, updates, seed), shards, max_rounds=1)
    return fitted(trained.arrays, n, updates + 1, [{"objective": o} for o in history] + trained.history)


def fitted(arrays: Arrays, rows: int, updates: int, history: list[Measures]) -> FittedState:
    """The state that a model keeps of what was learnt."""
    V, W, r = (arrays.get(f"draws_{name}", arrays[name][None]) for name in ("V", "W", "r"))
    draws = Draws(np.ascontiguousarray(V.transpose(0, 2, 1)), W, r)
    objective = tuple(m.get("objective", m.get("log_likelihood", np.nan)) for m in history)
    return FittedState(draws, arrays["tau"], arrays["counts"], arrays["curvature"], rows, updates, objective)


def scaled(model: Any, X: sp.csr_matrix) -> sp.csr_matrix:
    return normalise_rows(X, model.normalise).astype(model.dtype, copy=False)


def preparation(model: Any) -> begin.RowPreparation:
    return begin.RowPreparation(model.dtype, bool(model.normalise), bool(model.fit_intercept))


def first(model: Any, shards: Shards, rows: Rows, known: FittedState | None, seed: int) -> Arrays:
    """The arrays that training begins with; ValueError where they, or an exact solver's, would be too large."""
    constant, n_labels = bool(model.fit_intercept), rows.n_labels
    tau = begin.precisions(shards, rows.n_features, model.tau, model.intercept_tau, constant)
    n_topics = begin.topic_number(model.n_topics, n_labels) if known is None else known.counts.shape[1]
    for what, size in (("words", tau.size), ("tags", n_labels)):
        if size * n_topics > model.max_weights:
            raise ValueError(
                f"{size} {what} × {n_topics} topics are more than max_weights={model.max_weights!r}: "
                "take fewer topics, or select words"
            )
    if model.solver == "exact" and tau.size > MOST_EXACT_WORDS:
        raise ValueError(f'solver="exact" takes up to {MOST_EXACT_WORDS} words, got {tau.size}: take solver="cg"')
    if known is None:
        return begin.first_arrays(tau, n_labels, n_topics, model.r, seed, model.dtype)
    keep_tau = model.tau is None or model.learn_tau
    return begin.grown_arrays(known.arrays(model.dtype), tau, n_labels, model.eta, constant, keep_tau)


def settings(model: Any) -> EMSettings:
    """What EM needs of the parameters."""
    return EMSettings(
        eta=model.eta,
        geo=model.objective == "geo",
        masked=model.missing == "mask",
        cg_steps=model.cg_steps if model.solver == "cg" else 0,
        learn_tau=model.learn_tau,
        learn_r=model.learn_r,
        tol=model.tol,
    )


def online(model: Any, how: EMSettings, arrays: Arrays, n: int, per_pass: int, updates: int, seed: int) -> OnlineEM:
    """Minibatches with the schedule of the parameters."""
    return OnlineEM(how, arrays, n, per_pass, updates, model.kappa, model.t0, model.inner, seed)


def chain(model: Any) -> GibbsSettings:
    """What Gibbs sampling needs of the parameters."""
    return GibbsSettings(
        eta=model.eta,
        learn_r=model.learn_r,
        learn_tau=model.learn_tau,
        burn_in=model.burn_in,
        thin=model.thin,
        keep=model.n_draws,
    )


def held_out(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows to validate on, rows to learn from), both in order."""
    order = np.random.default_rng(seed).permutation(n)
    size = min(max(1, round(share * n)), n - 1)
    if size < 1:
        raise ValueError(f"early_stopping needs at least 2 rows, got {n}")
    return np.sort(order[:size]), np.sort(order[size:])


def row_auc(X: sp.csr_matrix, Y: sp.csr_matrix) -> Callable[[Arrays], float]:
    """The mean AUC of rows, as a function of the global arrays."""
    tags = np.diff(Y.indptr)
    if not ((tags > 0) & (tags < Y.shape[1])).any():
        raise ValueError(f"early_stopping: none of the {X.shape[0]} rows held out has a tag and lacks one")

    def measure(arrays: Arrays) -> float:
        draws = Draws(np.ascontiguousarray(arrays["V"].T)[None], arrays["W"][None], arrays["r"][None])
        step = max(1, 4_000_000 // Y.shape[1])
        cuts = [slice(i, min(i + step, X.shape[0])) for i in range(0, X.shape[0], step)]
        return roc_auc(Y, lambda: ((cut, scores(X[cut], draws, 1.0)) for cut in cuts)).row

    return measure
