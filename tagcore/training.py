"""The one loop of iterative training: progress, early stop, checkpoints, resume.

A learner is `init`, `round`, `done`; its per-shard state lives in the Shards, its global arrays pass from round to
round. A checkpoint is a new folder each time, which becomes current when it is whole, by the replacement of one small
file, so that a run killed at any moment goes on from the last whole one and ends with the same bits.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from tagcore.progress import Progress, no_progress
from tagcore.shards import Arrays, Executor, InProcess, Shards, one_blas_thread
from tagcore.store.storage import Storage, storage_of

Measures = dict[str, float]

_CURRENT, _HEAD, _NOW, _BEST, _STATES = "current", "head.json", "now.safetensors", "best.safetensors", "shards"


class Learner(Protocol):
    """An iterative model. Randomness must be keyed by (seed, round, global row), never drawn from a running stream."""

    def init(self, shards: Shards) -> Arrays:
        """Gives the global arrays before the first round; may give every shard its first state."""

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        """Gives the global arrays after one more round, and measures of them."""

    def done(self, history: list[Measures]) -> bool:
        """Tells whether the rounds so far suffice."""


@dataclass
class EarlyStop:
    """Ends training when a measure has not improved for `patience` rounds; the best round's arrays are kept."""

    measure: str
    patience: int = 5
    greater_is_better: bool = True
    min_delta: float = 0.0

    def best(self, history: list[Measures]) -> int:
        """Gives the round whose measure no later one improved on by more than min_delta."""
        sign = 1.0 if self.greater_is_better else -1.0
        best = 0
        for number, measures in enumerate(history):
            if sign * measures[self.measure] > sign * history[best][self.measure] + self.min_delta:
                best = number
        return best


@dataclass
class Checkpoints:
    """Where to keep checkpoints and how often. `key` names what is trained: those of another key are never resumed."""

    folder: Path | Storage
    key: str
    every_seconds: float = 60.0

    @property
    def storage(self) -> Storage:
        return storage_of(self.folder)

    def inside(self, name: str) -> "Checkpoints":
        """Gives the checkpoints of one training among several that make up the whole."""
        return Checkpoints(self.storage.inside(name), f"{self.key}/{name}", self.every_seconds)


class SharedFits(Protocol):
    """Fits on one set of rows that several trainings need; see `kept_fits`."""

    def fit(self, model: Any, left_out: np.ndarray | None, fit: Callable[[], object]) -> None:
        """Gives the model the state of a fit without the rows that are left out, made by `fit` or before."""

    def of_view(self, number: int) -> "SharedFits":
        """Gives the fits on one kind of features, where the rows have several side by side."""


@dataclass(frozen=True)
class FitContext:
    """How a model is fitted, beside its parameters and rows."""

    executor: Executor = field(default_factory=InProcess)  # runs the steps
    progress: Progress = no_progress
    checkpoints: Checkpoints | None = None
    kept: "SharedFits | None" = None  # of parts of this model, that other trainings make, too
    observed: sp.csr_matrix | None = None  # ones in the cells of y (n × L) that were looked at, where not all were


@dataclass
class Trained:
    """The result of a training: global arrays of the best round and the history of all rounds."""

    arrays: Arrays
    history: list[Measures] = field(default_factory=list)
    best_round: int = 0
    resumed_from: int = 0


def train(
    learner: Learner,
    shards: Shards,
    *,
    max_rounds: int,
    progress: Progress | None = None,
    early_stop: EarlyStop | None = None,
    checkpoints: Checkpoints | None = None,
) -> Trained:
    """Trains until the learner is done, the early stop says so, or max_rounds; resumes from a checkpoint if there is.

    Progress ends at max_rounds, however few it took.
    """
    with one_blas_thread():  # rounds may be short: to set the limit anew in each step would take longer than they do
        return _rounds(learner, shards, max_rounds, progress or no_progress, early_stop, checkpoints)


def _rounds(
    learner: Learner,
    shards: Shards,
    max_rounds: int,
    progress: Progress,
    early_stop: EarlyStop | None,
    checkpoints: Checkpoints | None,
) -> Trained:
    resumed = _resume(checkpoints, shards) if checkpoints else None
    if resumed is None:
        arrays = learner.init(shards)
        trained = Trained(arrays)
    else:
        arrays, trained = resumed
    saved_at = time.monotonic()
    while len(trained.history) < max_rounds and not _is_over(learner, trained, early_stop):
        number = len(trained.history)
        arrays, measures = learner.round(shards, arrays, number)
        _require_finite(arrays, number)
        trained.history.append(measures)
        if early_stop is None or early_stop.best(trained.history) == number:
            trained.arrays, trained.best_round = arrays, number
        progress(number + 1, max_rounds, measures)
        if checkpoints and time.monotonic() - saved_at >= checkpoints.every_seconds:
            _save(checkpoints, shards, arrays, trained)
            saved_at = time.monotonic()
    if 0 < len(trained.history) < max_rounds:
        progress(max_rounds, max_rounds, trained.history[-1])
    return trained


def _is_over(learner: Learner, trained: Trained, early_stop: EarlyStop | None) -> bool:
    rounds = len(trained.history)
    if early_stop and rounds and rounds - 1 - trained.best_round >= early_stop.patience:
        return True
    return rounds > 0 and learner.done(trained.history)


def _require_finite(arrays: Arrays, number: int) -> None:
    for name, values in arrays.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise FloatingPointError(f"round {number}: array {name!r} holds a value that is not finite")


def _save(checkpoints: Checkpoints, shards: Shards, arrays: Arrays, trained: Trained) -> None:
    storage, name = checkpoints.storage, f"round-{len(trained.history):06d}"
    storage.remove(name)  # left by a run that was killed before it became current
    target = storage.inside(name)
    shards.save(target.inside(_STATES))
    target.write_arrays(_NOW, arrays)
    target.write_arrays(_BEST, trained.arrays)
    head = {"key": checkpoints.key, "history": trained.history, "best_round": trained.best_round}
    target.write(_HEAD, json.dumps(head).encode())
    shards.restore(target.inside(_STATES))
    storage.write(_CURRENT, name.encode())
    storage.remove(*(old for old in storage.names() if old.startswith("round-") and old != name))


def _resume(checkpoints: Checkpoints, shards: Shards) -> tuple[Arrays, Trained] | None:
    storage = checkpoints.storage
    try:
        folder = storage.inside(storage.read(_CURRENT).decode())
        head = json.loads(folder.read(_HEAD))
    except FileNotFoundError:
        return None
    if head["key"] != checkpoints.key:
        raise ValueError(f"{folder}: a checkpoint of another training ({head['key']!r}, expected {checkpoints.key!r})")
    shards.restore(folder.inside(_STATES))
    rounds = len(head["history"])
    best = folder.read_arrays(_BEST)
    return folder.read_arrays(_NOW), Trained(best, head["history"], head["best_round"], rounds)
