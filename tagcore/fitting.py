"""Fits any model by its class name, and calibrates its scores on documents that it had not seen."""

from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tagcore.base import Estimator, block_rows, registered_models
from tagcore.features.folds import first_fold
from tagcore.features.rows import Rows, load_all
from tagcore.progress import Progress, no_progress
from tagcore.scikit import clone
from tagcore.scoring.calibration import CALIBRATORS, Calibrator, FrequencyCalibrator, better_calibrator
from tagcore.shards import Executor, InProcess
from tagcore.tag_model import TagModel
from tagcore.training import Checkpoints, FitContext, SharedFits

BETTER = "better"  # of the isotonic and the frequency calibrator

M = TypeVar("M", bound=Estimator)

_WARM_UP_ROUNDS = 1000  # at most: enough for solvers not to complain that they were cut short
_WARM_UP_SWEEPS = 2  # of samplers, which never end early
CALIBRATION_DEPTH = 10  # the ranks that people look at


def model_class(name: str, base: type[M]) -> type[M]:
    """Gives a class of `TagModel`s, of `RatingModel`s or of both by name, however its letters are cased; ValueError
    lists those that there are."""
    known_models = registered_models()
    by_lower_case = {class_name.lower(): model for class_name, model in known_models.items()}
    model = by_lower_case.get(name.lower())
    choices = ", ".join(sorted(n for n, known in known_models.items() if issubclass(known, base)))
    if model is None:
        raise ValueError(f"no model {name!r}; there are {choices}")
    if not issubclass(model, base):
        raise ValueError(
            f"{model.__name__} learns from {model.learns_from}, expected a model that learns from {base.learns_from}: "
            f"{choices}"
        )
    return model


def make_model(name: str, params: dict, seed: int, base: type[M]) -> M:
    """Makes a model by class name; a wrong name or parameter is a ValueError that lists the right ones."""
    model = model_class(name, base)
    defaults = model().get_params()
    if unknown := sorted(set(params) - set(defaults)):
        raise ValueError(f"{model.__name__} has no parameter {unknown[0]!r}; it has {', '.join(sorted(defaults))}")
    if "random_state" in defaults:
        params = {"random_state": seed, **params}
    return model(**params)


def take_further(model: Any, rows: Rows, known: int) -> TagModel:
    """Lets a fitted model with `grow` and `partial_fit` learn the rows behind those that it knows, in their order.

    Words and tags that it does not know stand behind those that it knows. Where tags are learnt apart from one another,
    new ones are learnt from all rows; elsewhere from the new rows alone.
    """
    new, tags = rows.select(np.arange(known, rows.n_rows)), model.n_labels_
    model.grow(rows.n_features, rows.n_labels)
    if new.n_rows:
        model.partial_fit(*new.load(slice(0, new.n_rows)))
    if rows.n_labels > tags and getattr(model, "learns_tags_apart", False):
        X, Y = load_all(rows)
        model.relearn_tags(X, Y[:, tags:], tags)
    return model


def warm_up(model: TagModel, rows: Rows, further: bool = False) -> None:
    """Compiles the model's kernels on a corner of the data, so that times are of training and not of compiling;
    `further` also those that take it further."""
    X, Y = rows.load(slice(0, min(40, rows.n_rows)))
    corner, brief = X[:, :60], clone(model)
    for names, most in ((model._rounds, _WARM_UP_ROUNDS), (model._sweeps, _WARM_UP_SWEEPS)):
        brief.set_params(**{name: min(getattr(model, name), most) for name in names})
    with suppress(ValueError):  # a corner may be too small for what the whole is large enough for
        brief.fit(corner, Y[:, :20]).top_k(corner, 2)
        if further:
            brief.partial_fit(corner, Y[:, :20])


def fit_calibrated(
    model: TagModel,
    rows: Rows,
    calibrate: str | None,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    kept: SharedFits | None = None,
) -> Calibrator | None:
    """Fits the model on all rows. Its calibrator comes from a twin fitted without the first fold, which it scores.

    A model that gives probabilities by itself has none. Both fits are those that a blend makes of its member.
    """
    progress = progress or no_progress
    calibrator = None
    held_out = first_fold(rows.n_rows, seed)
    if calibrate and not model.gives_probabilities and held_out.any():
        within = checkpoints and checkpoints.inside("calibration")
        twin = model.twin()
        context = FitContext(executor or InProcess(), _half(progress, 0), within, kept)
        twin.fit_without(held_out, rows, context)
        calibrator = _fit_calibrator(calibrate, twin, rows, held_out)
        progress = _half(progress, 1)
    model.fit_without(None, rows, FitContext(executor or InProcess(), progress, checkpoints, kept))
    return calibrator


def _fit_calibrator(calibrate: str, twin: TagModel, rows: Rows, held_out: np.ndarray) -> Calibrator:
    seen = _suggestions(twin, rows.select(np.flatnonzero(held_out)))
    if calibrate not in (BETTER, FrequencyCalibrator.name):
        return CALIBRATORS[calibrate]().fit(seen.scores, seen.hits)
    learnt = rows.labels(slice(0, rows.n_rows))[np.flatnonzero(~held_out)]
    documents = np.bincount(learnt.indices, minlength=rows.n_labels)
    if calibrate == BETTER:
        return better_calibrator(*seen, documents)
    return FrequencyCalibrator().fit_by_tag(seen.scores, seen.hits, seen.tags, documents)


class _Suggestions(NamedTuple):
    """The best tags of some rows, one after the other."""

    scores: np.ndarray
    hits: np.ndarray  # whether the row has the tag
    tags: np.ndarray
    rows: np.ndarray


def _suggestions(twin: TagModel, rows: Rows) -> _Suggestions:
    """The best tags of every row; one block of rows is in memory at a time."""
    blocks = []
    for start in range(0, rows.n_rows, block_rows(rows.n_labels)):
        X, Y = rows.load(slice(start, min(start + block_rows(rows.n_labels), rows.n_rows)))
        tags, scores = twin.top_k(X, CALIBRATION_DEPTH)
        row_of_tag, tag = np.repeat(np.arange(X.shape[0]), tags.shape[1]), tags.ravel()
        hits = np.asarray(Y[row_of_tag, tag]).ravel() > 0
        blocks.append((scores.ravel(), hits, tag, start + row_of_tag))
    return _Suggestions(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _half(progress: Progress, half: int) -> Progress:
    """Progress of the first (0) or second (1) half of the work, told as progress of the whole."""
    return lambda done, total, measures: progress(half * total + done, 2 * total, measures)
