"""From rows to a tagger: the model fitted, its scores calibrated on documents it had not seen."""

from contextlib import suppress

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from tagcore.base import MODELS, Progress, TagModel, no_progress
from tagcore.features.rows import Rows
from tagcore.scoring.calibration import CALIBRATORS, Calibrator
from tagcore.shards import Executor
from tagcore.training import Checkpoints

CALIBRATION_SHARE = 0.1
_ROUNDS = ("max_iter", "burn_in", "n_draws")  # what models call the length of their training
_LONG_ENOUGH = 1000  # for a corner of the data, whose solvers shall not complain that they were cut short
CALIBRATION_DEPTH = 10  # the ranks that people look at


def model_class(name: str) -> type[TagModel]:
    """A class by name, however its letters are cased; ValueError lists those that there are."""
    import tagcore.baselines
    import tagcore.models  # noqa: F401  both register their classes

    meant = {known.lower(): known for known in MODELS}
    if name.lower() not in meant:
        raise ValueError(f"no model {name!r}; there are {', '.join(sorted(MODELS))}")
    return MODELS[meant[name.lower()]]


def make_model(name: str, params: dict, seed: int) -> TagModel:
    """A model by class name; a wrong name or parameter is a ValueError that lists the right ones."""
    model = model_class(name)
    known = model().get_params()
    if unknown := sorted(set(params) - set(known)):
        raise ValueError(f"{model.__name__} has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}")
    if "random_state" in known:
        params = {"random_state": seed, **params}
    return model(**params)


def warm_up(model: TagModel, rows: Rows) -> None:
    """Compiles the model's kernels on a corner of the data, so that times are of training and not of compiling."""
    X, Y = rows.load(slice(0, min(40, rows.n_rows)))
    corner, brief = X[:, :60], clone(model)
    rounds = {name: value for name, value in model.get_params().items() if name in _ROUNDS}
    brief.set_params(**{name: min(value, _LONG_ENOUGH) for name, value in rounds.items() if isinstance(value, int)})
    with suppress(ValueError):  # a corner may be too small for what the whole is large enough for
        brief.fit(corner, Y[:, :20]).top_k(corner, 2)


def fit_calibrated(
    model: TagModel,
    rows: Rows,
    calibrate: str | None,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
) -> Calibrator | None:
    """Fits the model on all rows. Its calibrator comes from a twin fitted without a tenth of them, in memory."""
    progress = progress or no_progress
    calibrator = None
    held_out = np.random.default_rng(seed).random(rows.n_rows) < CALIBRATION_SHARE
    if calibrate and held_out.any() and not held_out.all():
        X, Y = rows.load(slice(0, rows.n_rows))
        learnt = np.flatnonzero(~held_out)
        twin = clone(model).fit(X[learnt], Y[learnt], executor=executor, progress=_part(progress, 0))
        calibrator = _calibrator(calibrate, twin, X[held_out], Y[held_out])
        progress = _part(progress, 1)
    model.fit_rows(rows, executor=executor, progress=progress, checkpoints=checkpoints)
    return calibrator


def _calibrator(name: str, twin: TagModel, X: sp.csr_matrix, Y: sp.csr_matrix) -> Calibrator:
    tags, scores = twin.top_k(X, CALIBRATION_DEPTH)
    rows = np.repeat(np.arange(X.shape[0]), tags.shape[1])
    hits = np.asarray(Y[rows, tags.ravel()]).ravel() > 0
    return CALIBRATORS[name]().fit(scores.ravel(), hits)


def _part(progress: Progress, part: int) -> Progress:
    return lambda done, total, known: progress(part * total + done, 2 * total, known)
