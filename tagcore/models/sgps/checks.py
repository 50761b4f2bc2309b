"""Parameters that Gaussian process classifiers refuse, and what their stored arrays must be."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array, require_lists
from tagcore.models.sgps.basis import Basis
from tagcore.models.sgps.hessian import MOST_EXACT, Curvature
from tagcore.models.sgps.learning import Learnt
from tagcore.models.sgps.posterior import METHODS, Posterior
from tagcore.models.sgps.scaling import SCALINGS
from tagcore.numeric.covariance import COVARIANCES
from tagcore.parameters import (
    FLAG,
    POSITIVE,
    ROUNDS,
    SEED,
    SIZE,
    Choice,
    Numbers,
    Real,
    Whole,
    WholeOrShare,
    check_limits,
    limits,
)

LIMITS = limits(
    n_prototypes=WholeOrShare("the rows", none=True),
    covariance=Choice(*COVARIANCES),
    length_scales=Choice("shared", "per_class", "ard"),
    evidence=Choice("block", "exact", "none"),
    selector=Choice("prototypes", "random", "infogain", "kmeans"),
    start=Choice("random", "kmeans"),
    snap=FLAG,
    search=Choice("lbfgs", "grid", "none"),
    length_scale=Numbers(Real(above=0, none=True)),
    amplitude=Real(above=0, most=1e6, none=True),
    search_iter=ROUNDS,
    search_rows=Whole(2, none=True),
    probability=Choice(*METHODS),
    scaling=Choice(*SCALINGS),
    tol=POSITIVE,
    max_iter=ROUNDS,
    epochs=ROUNDS,
    rate=Real(above=0, most=1),
    width=POSITIVE,
    window=Real(least=0, most=0.25),
    jitter=Real(above=0, most=0.01),
    max_prototypes=Whole(1, 20_000),
    mode=Choice("auto", "store", "float32", "stream"),
    memory=SIZE,
    n_shards=Whole(1, 100_000),
    random_state=SEED,
)

ARRAYS = (
    "prototype_values_",
    "prototype_columns_",
    "prototype_starts_",
    "prototype_classes_",
    "length_scale_",
    "amplitudes_",
    "factor_",
    "weights_",
    "curvature_factors_",
)
FACTS = ("sparse_", "curvature_", "jitter_", "n_iter_", "converged_", "degenerate_", "at_bound_")


def check_together(model: Any) -> None:
    """Raises ValueError where two parameters together make no sense."""
    if model.search == "grid" and model.length_scales != "shared":
        raise ValueError(f'search="grid" needs length_scales="shared", got {model.length_scales!r}')
    if np.ndim(model.length_scale) and model.length_scales != "ard":
        raise ValueError(f'several length scales need length_scales="ard", got {model.length_scales!r}')
    if np.ndim(model.length_scale) and np.min(model.length_scale) <= 0:
        raise ValueError(f"every one of length_scale must be positive, got {model.length_scale!r:.100}")


def require_scale_per_column(length_scale: Any, n_columns: int) -> None:
    """Raises ValueError where several length scales are not as many as columns."""
    if np.ndim(length_scale) and len(length_scale) != n_columns:
        raise ValueError(f"length_scale has {len(length_scale)} numbers, X has {n_columns} columns: each wants one")


def keep_learnt(model: Any, learnt: Learnt) -> None:
    """Sets the fitted arrays and facts of a model."""
    posterior, basis = learnt.posterior, learnt.posterior.basis
    Z = sp.csr_matrix(basis.prototypes)
    Z.sort_indices()
    model.prototype_values_ = Z.data.astype(np.float64)
    model.prototype_columns_, model.prototype_starts_ = Z.indices.astype(np.int32), Z.indptr.astype(np.int64)
    model.prototype_classes_ = learnt.prototype_classes.astype(np.int64)
    model.length_scale_, model.amplitudes_ = np.atleast_1d(basis.length_scale), posterior.amplitudes
    model.factor_, model.weights_ = map(np.ascontiguousarray, (basis.factor, posterior.weights))  # as they are stored
    known = posterior.curvature
    model.curvature_factors_ = np.empty((0, 0, 0)) if known is None else known.factors
    model.curvature_ = "none" if known is None else known.kind
    model.sparse_, model.jitter_, model.log_evidence_ = sp.issparse(basis.prototypes), basis.jitter, learnt.evidence
    model.n_iter_, model.converged_ = learnt.n_iter, learnt.converged
    model.degenerate_ = learnt.found is not None and learnt.found.degenerate
    model.at_bound_ = learnt.found is not None and learnt.found.at_bound


def prototypes_of(model: Any, n_features: int) -> Any:
    """Gives the prototypes, dense or CSR."""
    parts = model.prototype_values_, model.prototype_columns_, model.prototype_starts_
    Z = sp.csr_matrix(parts, shape=(model.factor_.shape[0], n_features), copy=False)
    return Z if model.sparse_ else Z.toarray()


_posteriors: WeakKeyDictionary[Any, tuple[list[np.ndarray], Posterior]] = WeakKeyDictionary()


def posterior_of(model: Any, n_features: int) -> Posterior:
    """Gives the fitted process of a model's arrays, made anew only where these are others by now: its prototypes are
    made ready once for all questions."""
    arrays = [getattr(model, name) for name in ARRAYS]
    known = _posteriors.get(model)
    if known is None or any(now is not before for now, before in zip(arrays, known[0], strict=True)):
        known = _posteriors[model] = arrays, _posterior(model, n_features)
    return known[1]


def _posterior(model: Any, n_features: int) -> Posterior:
    scale = model.length_scale_ if model.length_scales == "ard" else model.length_scale_[0]
    basis = Basis(model.covariance, np.asarray(scale), prototypes_of(model, n_features), model.factor_, model.jitter_)
    known = None if model.curvature_ == "none" else Curvature(model.curvature_factors_, model.curvature_)
    return Posterior(basis, model.amplitudes_, model.weights_, known)


def check_learnt(model: Any, n_classes: int, n_features: int) -> None:
    """Raises ValueError where loaded arrays do not fit together."""
    D, f8 = n_features, np.float64
    check_limits({"n_iter_": Whole(0), "jitter_": Real(above=0, most=0.01)}, model)
    check_limits({"sparse_": FLAG, "converged_": FLAG, "degenerate_": FLAG, "at_bound_": FLAG}, model)
    check_limits({"curvature_": Choice("block", "exact", "none"), "log_evidence_": Real(none=True)}, model)
    M = model.prototype_classes_.size
    if M < 1:
        raise ValueError("there are no prototypes")
    require_lists(model.prototype_starts_, model.prototype_columns_, M, D, "prototypes")
    require_array(model.prototype_values_, model.prototype_columns_.shape, f8, "values of prototypes")
    require_array(model.prototype_classes_, (M,), np.int64, "classes of prototypes", 0, n_classes - 1)
    scales = D if model.length_scales == "ard" else 1
    tiny = float(np.finfo(f8).tiny)
    require_array(model.length_scale_, (scales,), f8, "length_scale_", tiny)
    require_array(model.amplitudes_, (n_classes,), f8, "amplitudes_", tiny)
    require_array(model.factor_, (M, M), f8, "factor_")
    require_array(np.diag(model.factor_), (M,), f8, "the diagonal of factor_", tiny)
    require_array(model.weights_, (M, n_classes), f8, "weights_")
    shapes = {"none": (0, 0, 0), "block": (n_classes, M, M), "exact": (1, n_classes * M, n_classes * M)}
    if model.curvature_ == "exact" and n_classes * M > MOST_EXACT:
        raise ValueError(f"a whole curvature of {n_classes} classes × {M} prototypes")
    require_array(model.curvature_factors_, shapes[model.curvature_], f8, "curvature_factors_")
    diagonals = np.diagonal(model.curvature_factors_, axis1=1, axis2=2)
    require_array(diagonals, diagonals.shape, f8, "diagonals of curvature_factors_", tiny)
