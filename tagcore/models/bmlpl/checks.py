"""Parameters that BMLPL refuses."""

from typing import Any

import numpy as np

from tagcore.base import require_array
from tagcore.parameters import FLAG, MOST_BYTES, POSITIVE, ROUNDS, SEED, SIZE, Choice, Real, Whole, check_limits, limits

LIMITS = limits(
    n_topics=Real(least=0, none=True),  # up to the number of tags, or a share of it: known when there are tags
    max_iter=ROUNDS,
    tol=Real(),
    inference=Choice("em", "online", "gibbs"),
    objective=Choice("mean", "geo"),
    solver=Choice("cg", "exact"),
    cg_steps=ROUNDS,
    eta=POSITIVE,
    r=POSITIVE,
    tau=Real(above=0, none=True),
    intercept_tau=POSITIVE,
    learn_tau=FLAG,
    learn_r=FLAG,
    normalise=FLAG,
    fit_intercept=FLAG,
    missing=Choice("zeros", "mask"),
    observed_rate=Real(above=0, most=1),
    batch_rows=Whole(),
    kappa=Real(above=0.5, most=1),  # for averages to settle
    t0=POSITIVE,
    inner=ROUNDS,
    burn_in=Whole(0, ROUNDS.most),
    n_draws=ROUNDS,
    thin=ROUNDS,
    early_stopping=FLAG,
    validation_fraction=Real(above=0, most=1),
    patience=ROUNDS,
    screen=Whole(),
    n_shards=Whole(),
    dtype=Choice("float32", "float64"),
    warm_start=FLAG,
    max_weights=SIZE,
    random_state=SEED,
)
_FACTS = {name: Whole(0, MOST_BYTES) for name in ("n_iter_", "rows_seen_", "updates_")}
_ONLY_EM = {"learn_tau": False, "learn_r": False, "early_stopping": False, "missing": "zeros"}


def check_together(model: Any) -> None:
    """Raises ValueError where two parameters together make no sense."""
    if model.objective == "mean" and model.learn_r and model.inference == "em":
        raise ValueError('learn_r needs objective="geo": the other grows without bound in r')
    if model.objective == "geo" and model.missing == "mask":
        raise ValueError('missing="mask" needs objective="mean"')
    for name, only in _ONLY_EM.items():
        chain = model.inference == "gibbs" and name.startswith("learn")
        if model.inference != "em" and not chain and getattr(model, name) != only:
            raise ValueError(f'{name}={getattr(model, name)!r} needs inference="em", got {model.inference!r}')


def check_state(model: Any) -> None:
    """Raises ValueError where loaded arrays do not fit together, or leave the ranges that the kernels lean on."""
    check_limits(_FACTS, model)
    if not isinstance(model.history_, list) or not all(isinstance(value, float) for value in model.history_):
        raise ValueError(f"history_ must be a list of numbers, got {model.history_!r:.100}")
    words, dtype = model.n_features_in_ + bool(model.fit_intercept), model.weight_draws_.dtype
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"weight_draws_ is {dtype}, expected float32 or float64")
    if model.shape_draws_.ndim != 2 or 0 in model.shape_draws_.shape:
        raise ValueError(f"shape_draws_ has shape {model.shape_draws_.shape}, expected at least one draw and topic")
    draws, topics = model.shape_draws_.shape
    tiny = float(np.finfo(np.float32).tiny)
    require_array(model.weight_draws_, (draws, words, topics), dtype, "weight_draws_")
    require_array(model.topic_draws_, (draws, topics, model.n_labels_), dtype, "topic_draws_", 0, 1 + 1e-5)
    of_shapes = np.float32 if model.shape_draws_.dtype == np.float32 else np.float64  # Gibbs keeps the type of training
    require_array(model.shape_draws_, (draws, topics), of_shapes, "shape_draws_", tiny)
    require_array(model.tau_, (words,), np.float64, "tau_", 0)
    require_array(model.label_counts_, (model.n_labels_, topics), dtype, "label_counts_", 0)
    require_array(model.curvature_, (words, topics), dtype, "curvature_", 0)
