"""From the parameters of a BMLPL to its learner, and from what it learnt to the fitted state."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import InMemory, Rows, load_all
from tagcore.models.bmlpl.em import EM, EMSettings, expectation_step
from tagcore.models.bmlpl.gibbs import GibbsLearner, GibbsSettings
from tagcore.models.bmlpl.initial import first_arrays, grown_arrays, number_of_topics, prior_precisions
from tagcore.models.bmlpl.online import OnlineEM
from tagcore.models.bmlpl.preparation import RowPreparation, prepared_shards
from tagcore.models.bmlpl.scores import Draws
from tagcore.models.bmlpl.solve import MOST_EXACT_WORDS
from tagcore.models.bmlpl.validation import row_auc, validation_split
from tagcore.numeric.normalise import normalise_rows
from tagcore.shards import Arrays, Executor, Shards
from tagcore.training import EarlyStop, FitContext, Measures, train


@dataclass(frozen=True)
class FittedState:
    """All that a fitted model keeps: parameters, two statistics with the rows they are scaled to, and its history."""

    draws: Draws
    tau: np.ndarray
    counts: np.ndarray  # (labels, topics): how often a label came from a topic
    curvature: np.ndarray  # (words, topics): the diagonal of X' Ω X
    n_rows: int = 0  # to which the two statistics are scaled
    updates: int = 0  # minibatches so far; an iteration over all rows counts as a pass
    history: tuple[float, ...] = ()

    def arrays(self, dtype: str) -> Arrays:
        """The arrays that training goes on from."""
        V, W, r = (draws.mean(axis=0) for draws in self.draws)
        kept = {"V": np.ascontiguousarray(V.T), "W": W, "counts": self.counts, "curvature": self.curvature}
        return {name: values.astype(dtype) for name, values in kept.items()} | {"r": r.astype(float), "tau": self.tau}


def learn(model: Any, rows: Rows, previous: FittedState | None, seed: int, context: FitContext) -> FittedState:
    """Gives the state after training on all rows, from the previous one or from a random start.

    Of `model` only the parameters are read.
    """
    rows, mask = without_unobserved(model, rows, context.observed)
    validate, stop = None, None
    if model.early_stopping:
        held_out, training = validation_split(rows.n_rows, model.validation_fraction, seed)
        X, Y = load_all(rows.select(held_out))
        validate, stop = row_auc(scaled(model, X), Y), EarlyStop("auc", model.patience)
        rows, mask = rows.select(training), None if mask is None else mask[training]
    shards = prepared_shards(rows, mask, row_preparation(model), model.n_shards, context.executor)
    arrays = starting_arrays(model, shards, rows, previous, seed)
    n = rows.n_rows
    per_pass = max(1, min(-(-n // model.batch_rows), n // len(shards)))
    updates = 0
    if model.inference == "online":
        updates = previous.updates if previous else 0
        learner: Any = online_learner(model, em_settings(model), arrays, n, per_pass, updates, seed)
        rounds = per_pass * model.max_iter
    elif model.inference == "gibbs":
        learner = GibbsLearner(gibbs_settings(model), arrays, seed)
        rounds = learner.settings.rounds
    else:
        learner, rounds = EM(em_settings(model), arrays, validate), model.max_iter

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
        trained.arrays |= shards.update(expectation_step, **last, geo=False)
    updates += done if model.inference == "online" else done * per_pass
    return fitted_state(trained.arrays, n, updates, trained.history)


def without_unobserved(model: Any, rows: Rows, observed: sp.csr_matrix | None) -> tuple[Rows, sp.csr_matrix | None]:
    """Gives the rows without tags in unobserved cells, and the mask of the observed cells where others are left out.

    The rows are in memory where some cells are unobserved.
    """
    if observed is None:
        if model.missing == "mask":
            raise ValueError('missing="mask" needs the argument observed of fit')
        return rows, None
    X, Y = load_all(rows)
    mask = observed.astype(model.dtype) if model.missing == "mask" else None
    return InMemory(X, sp.csr_matrix(Y.multiply(observed))), mask


def learn_batch(
    model: Any, X: sp.csr_matrix, Y: sp.csr_matrix, previous: FittedState | None, seed: int, executor: Executor
) -> FittedState:
    """Gives the state after one step of online EM; the statistics so far are scaled to all rows seen."""
    rows = InMemory(X, Y)
    shards = prepared_shards(rows, None, row_preparation(model), model.n_shards, executor)
    arrays = starting_arrays(model, shards, rows, previous, seed)
    n_before, updates, history = (previous.n_rows, previous.updates, previous.history) if previous else (0, 0, ())
    n = n_before + rows.n_rows
    for name in ("counts", "curvature") if n_before else ():
        arrays[name] = arrays[name] * arrays[name].dtype.type(n / n_before)
    diagonal = replace(em_settings(model), cg_steps=model.cg_steps)
    trained = train(online_learner(model, diagonal, arrays, n, 1, updates, seed), shards, max_rounds=1)
    return fitted_state(trained.arrays, n, updates + 1, [{"objective": o} for o in history] + trained.history)


def fitted_state(arrays: Arrays, n_rows: int, updates: int, history: list[Measures]) -> FittedState:
    """Gives the state that a model keeps of the arrays and the history of its training."""
    V, W, r = (arrays.get(f"draws_{name}", arrays[name][None]) for name in ("V", "W", "r"))
    draws = Draws(np.ascontiguousarray(V.transpose(0, 2, 1)), W, r)
    objective = tuple(m.get("objective", m.get("log_likelihood", np.nan)) for m in history)
    return FittedState(draws, arrays["tau"], arrays["counts"], arrays["curvature"], n_rows, updates, objective)


def scaled(model: Any, X: sp.csr_matrix) -> sp.csr_matrix:
    """Gives the rows in the length and the number type that the parameters ask for."""
    return normalise_rows(X, model.normalise).astype(model.dtype, copy=False)


def row_preparation(model: Any) -> RowPreparation:
    return RowPreparation(model.dtype, bool(model.normalise), bool(model.fit_intercept))


def starting_arrays(model: Any, shards: Shards, rows: Rows, previous: FittedState | None, seed: int) -> Arrays:
    """Gives the arrays that training begins with; ValueError where these, or an exact solver's, would be too large."""
    constant, n_labels = bool(model.fit_intercept), rows.n_labels
    tau = prior_precisions(shards, rows.n_features, model.tau, model.intercept_tau, constant)
    n_topics = number_of_topics(model.n_topics, n_labels) if previous is None else previous.counts.shape[1]
    for kind, size in (("words", tau.size), ("tags", n_labels)):
        if size * n_topics > model.max_weights:
            raise ValueError(
                f"{size} {kind} × {n_topics} topics are more than max_weights={model.max_weights!r}: "
                "take fewer topics, or select words"
            )
    if model.solver == "exact" and tau.size > MOST_EXACT_WORDS:
        raise ValueError(f'solver="exact" takes up to {MOST_EXACT_WORDS} words, got {tau.size}: take solver="cg"')
    if previous is None:
        return first_arrays(tau, n_labels, n_topics, model.r, seed, model.dtype)
    keep_tau = model.tau is None or model.learn_tau
    return grown_arrays(previous.arrays(model.dtype), tau, n_labels, model.eta, constant, keep_tau)


def em_settings(model: Any) -> EMSettings:
    """Gives the settings of EM that the parameters ask for."""
    return EMSettings(
        eta=model.eta,
        geo=model.objective == "geo",
        masked=model.missing == "mask",
        cg_steps=model.cg_steps if model.solver == "cg" else 0,
        learn_tau=model.learn_tau,
        learn_r=model.learn_r,
        tol=model.tol,
    )


def online_learner(
    model: Any, settings: EMSettings, arrays: Arrays, n: int, per_pass: int, updates: int, seed: int
) -> OnlineEM:
    """Gives the learner of online EM, with minibatches on the schedule of the parameters."""
    return OnlineEM(settings, arrays, n, per_pass, updates, model.kappa, model.t0, model.inner, seed)


def gibbs_settings(model: Any) -> GibbsSettings:
    """Gives the settings of Gibbs sampling that the parameters ask for."""
    return GibbsSettings(
        eta=model.eta,
        learn_r=model.learn_r,
        learn_tau=model.learn_tau,
        burn_in=model.burn_in,
        thin=model.thin,
        keep=model.n_draws,
    )
