"""From the parameters of a Gaussian process classifier and labelled rows to the fitted process."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.models.sgps.ascent import ascend
from tagcore.models.sgps.basis import make_basis
from tagcore.models.sgps.descent import DescentSettings, descend, snap
from tagcore.models.sgps.evidence import evidence_at
from tagcore.models.sgps.features import STORED_BYTES, FeatureShards, Mode
from tagcore.models.sgps.information import most_informative, pool_size
from tagcore.models.sgps.mode import find_mode, has_converged, objective_at
from tagcore.models.sgps.posterior import Posterior
from tagcore.models.sgps.prototypes import (
    any_rows,
    class_centres,
    class_wise_rows,
    number_of_prototypes,
    share_out,
)
from tagcore.models.sgps.rows import LabelledMatrix, LabelledRows, Layout
from tagcore.models.sgps.search import Found, Problem, Theta, climb, first_scale, sweep
from tagcore.numeric.covariance import SquaredExponential
from tagcore.numeric.dots import Matrix
from tagcore.training import FitContext, Measures

FIRST_AMPLITUDE = 3.0
SEARCHED_ROWS, SEARCHED_PROTOTYPES = 4000, 200  # up to so many rows the search sees all, with the prototypes themselves
COARSE_ROWS = 1000  # of many rows, on which a search begins; few alone would find too little amplitude
MOST_DENSE_CELLS = 2**25  # of prototypes while they move: 256 MB
ARD_ROUNDS = 4  # times as many iterations of the search
NEAR = 0.01  # standard deviations to the mode, which float32 and L-BFGS reach with ease


@dataclass(frozen=True, eq=False)
class Learnt:
    """The fitted process and how it came about."""

    posterior: Posterior
    prototype_classes: np.ndarray
    found: Found | None
    evidence: float | None
    n_iter: int
    converged: bool


def learn(model: Any, data: LabelledRows, n_classes: int, seed: int, context: FitContext) -> Learnt:
    """Selects prototypes, searches parameters by evidence, and finds the mode on all rows.

    Of `model` only the parameters are read.
    """
    n = data.classes.size
    count = number_of_prototypes(model.n_prototypes, n, n_classes, model.max_prototypes)
    rows_layout = Layout(model.n_shards, executor=context.executor)
    Z, of_class = select_prototypes(model, data, n_classes, count, seed, rows_layout)
    found = search_parameters(model, data, Z, of_class, n_classes, seed) if n_classes > 1 else None
    theta = found.theta if found else first_theta(model, Z, n_classes)
    basis = make_basis(model.covariance, theta.length_scale, Z, model.jitter)
    features = Layout(model.n_shards, _mode(model, n, basis.size), context.executor).features(data, basis)
    U, history = mode_of(model, features, theta.amplitudes, context)
    curvature, evidence = None, None
    if model.evidence != "none":
        known = evidence_at(features, theta.amplitudes, U, objective_at(features, theta.amplitudes, U), model.evidence)
        curvature, evidence = known.curvature, known.value
    posterior = Posterior(basis, theta.amplitudes, basis.unwhiten(U) * theta.amplitudes, curvature)
    converged = has_converged(history, model.tol)
    return Learnt(posterior, of_class, found, evidence, len(history), converged)


def mode_of(
    model: Any, features: FeatureShards, amplitudes: np.ndarray, context: FitContext
) -> tuple[np.ndarray, list[Measures]]:
    """Gives (latents of the mode, history): by L-BFGS, and from there by Newton's method where that is not exact
    enough."""
    told = {"max_rounds": model.max_iter, "progress": context.progress, "checkpoints": context.checkpoints}
    near = {"tol": max(model.tol, NEAR)} | (told if model.tol >= NEAR else {"max_rounds": model.max_iter})
    trained = ascend(features, amplitudes, np.zeros((features.basis.size, amplitudes.size)), **near)
    if model.tol < NEAR:
        trained = find_mode(features, amplitudes, trained.arrays["U"], tol=model.tol, **told)
    return trained.arrays["U"], trained.history


def select_prototypes(
    model: Any, data: LabelledRows, n_classes: int, count: int, seed: int, layout: Layout
) -> tuple[Matrix, np.ndarray]:
    """Gives (prototypes, their classes) by the selector that the parameters name."""
    rng = np.random.default_rng([seed, 0])
    keys = rng.random(data.classes.size)
    shares = share_out(count, data.classes, n_classes, keys)
    if model.selector == "random":
        return _rows(data, any_rows(data.classes.size, count, rng))
    if model.selector == "infogain":
        return _rows(data, _informative_rows(model, data, n_classes, count, rng))
    first = class_wise_rows(data.classes, shares, keys)
    sparse = sp.issparse(data.take(first[:1]))
    if sparse and count * data.n_features > MOST_DENSE_CELLS:
        warnings.warn(
            f"{count} prototypes of {data.n_features} columns are too large to move ({MOST_DENSE_CELLS} numbers at "
            "most): they stay at rows drawn class by class",
            stacklevel=2,
        )
        return _rows(data, first)
    if model.selector == "kmeans" or model.start == "kmeans":
        Z, classes = class_centres(data, shares, rng)
    else:
        X, classes = _rows(data, first)
        Z = X.toarray().astype(np.float64) if sparse else np.array(X, np.float64)
    shards = layout.shards(data)
    if model.selector == "prototypes":
        settings = DescentSettings(model.epochs, model.rate, model.width, model.window, seed)
        Z = descend(shards, Z, classes, data.classes.size, settings)
    if model.snap:
        return _rows(data, snap(shards, Z, classes))
    return Z, classes


def first_theta(model: Any, Z: Matrix, n_classes: int) -> Theta:
    """Gives the parameters that are set, or those with which a search begins."""
    scale = first_scale(Z) if model.length_scale is None else model.length_scale
    shape = (Z.shape[1],) if model.length_scales == "ard" else ()
    amplitude = FIRST_AMPLITUDE if model.amplitude is None else model.amplitude
    return Theta(np.broadcast_to(np.asarray(scale, np.float64), shape).copy(), np.full(n_classes, float(amplitude)))


def search_parameters(
    model: Any, data: LabelledRows, Z: Matrix, of_class: np.ndarray, n_classes: int, seed: int
) -> Found | None:
    """Searches by evidence, on a stratified part of the rows where there are many; None where all is set.

    It begins on a part of that part, and goes on from what is best there.
    """
    if model.search == "none":
        return None
    rng = np.random.default_rng([seed, 1])
    n, most = data.classes.size, model.search_rows or SEARCHED_ROWS
    rounds = model.search_iter * (ARD_ROUNDS if model.length_scales == "ard" else 1)
    start, found = first_theta(model, Z, n_classes), None
    coarse = model.search == "lbfgs" and min(n, most) > 2 * COARSE_ROWS
    for size in (COARSE_ROWS, most) if coarse else (most,):
        rows, prototypes = (data, Z) if n <= size else _part(data, size, Z.shape[0], n_classes, rng)
        kind = "block" if model.evidence == "none" else model.evidence
        problem = Problem(rows, prototypes, Layout(1), model.covariance, kind, model.jitter, n_classes)
        if model.search == "grid":
            return sweep(problem)
        if found is None and model.length_scale is None:
            start = first_theta(model, prototypes, n_classes)
        found = climb(problem, start, model.length_scales == "per_class", rounds)
        start = found.theta
    return found


def _part(
    data: LabelledRows, size: int, most: int, n_classes: int, rng: np.random.Generator
) -> tuple[LabelledMatrix, Matrix]:
    """A stratified part of the rows, and rows of it for prototypes."""
    part = _stratified(data, size, n_classes, rng)
    count = max(n_classes, min(SEARCHED_PROTOTYPES, part.classes.size // 5, most))
    keys = rng.random(part.classes.size)
    shares = share_out(count, part.classes, n_classes, keys)
    return part, part.X[class_wise_rows(part.classes, shares, keys)]


def _stratified(data: LabelledRows, size: int, n_classes: int, rng: np.random.Generator) -> LabelledMatrix:
    keys = rng.random(data.classes.size)
    numbers = class_wise_rows(data.classes, share_out(size, data.classes, n_classes, keys), keys)
    return LabelledMatrix(data.take(numbers), data.classes[numbers])


def _rows(data: LabelledRows, numbers: np.ndarray) -> tuple[Matrix, np.ndarray]:
    return data.take(numbers), data.classes[numbers]


def _informative_rows(
    model: Any, data: LabelledRows, n_classes: int, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows by information gain under the parameters that a search would begin with, from a pool where rows are many."""
    n = data.classes.size
    pool = np.sort(rng.choice(n, pool_size(n, n_classes, count), replace=False))
    X = data.take(pool)
    theta = first_theta(model, X, n_classes)
    k = SquaredExponential(theta.length_scale, float(theta.amplitudes[0]))
    return np.sort(pool[most_informative(X, data.classes[pool], n_classes, k, count)])


def _mode(model: Any, n_rows: int, n_prototypes: int) -> Mode:
    """How features are kept: as they are, rounded, or not at all, by what fits into half of the memory."""
    if model.mode != "auto":
        return model.mode
    fitting = (mode for mode, size in STORED_BYTES.items() if size * n_rows * n_prototypes <= model.memory // 2)
    return next(fitting, "stream")
