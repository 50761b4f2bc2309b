"""Factors to begin from."""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tagcore.shards import Arrays

if TYPE_CHECKING:
    from tagcore.models.tagicofi.estimator import TagiCoFi

_WIDE = 20  # factors, beyond which uniform ones would start far off the scale of the ratings
_NORMAL_SPREAD = 0.1


def first_factors(model: "TagiCoFi", rated: sp.csr_matrix) -> Arrays:
    """Those of all users, then of all items, whatever the shards are; after a warm start those there are."""
    sizes = [(n, model.n_factors) for n in rated.shape]
    if model.warm_start and hasattr(model, "user_factors_"):
        known = model.user_factors_, model.item_factors_
        if [factors.shape for factors in known] == sizes:
            return {"users": known[0], "items": known[1]}
    raw = model.biases == "none" and model.feedback == "ratings"
    init = model.init or ("normal" if not raw else "uniform" if model.n_factors <= _WIDE else "scaled")
    random = np.random.default_rng(np.random.SeedSequence(model._seed()))
    if init == "normal":
        U, V = (random.normal(0.0, _NORMAL_SPREAD, size) for size in sizes)
    else:
        most = 2.0 * np.sqrt(float(np.abs(rated.data).mean()) / model.n_factors) if init == "scaled" else 1.0
        U, V = (most * random.random(size) for size in sizes)
    return {"users": U, "items": V}
