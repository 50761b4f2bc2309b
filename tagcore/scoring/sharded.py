"""A model's scores on rows wherever they are: in shards, each scored by whoever works on it.

The model is shared once. Shards are cut by a fixed rule of (n, L), so scores are the same bits on any executor.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tagcore.base import from_parts
from tagcore.features.rows import Rows, load_part
from tagcore.label_matrix import label_matrix
from tagcore.scoring.blocks import KEPT_CELLS, ScorePart
from tagcore.scoring.calibration import CALIBRATORS, Calibrator
from tagcore.shards import Arrays, Executor, Shard, Shards, row_shards
from tagcore.tag_model import TagModel

_SHARD_CELLS = 4_000_000  # one block of scores, and several where there are very many labels
_FEWEST_ROWS, _MOST_ROWS = 256, 65_536
_AT_LEAST = ((4, 64), (32, 1024))  # (shards, rows of each): few labels may be much work, too, and are sharded as well
_HELD_ROWS = 2**17  # stay loaded where they are; more are read again for every pass


@runtime_checkable
class ModelHolder(Protocol):
    """A model with the calibrator and thresholds that belong to it, as a `Tagger` holds them."""

    @property
    def model(self) -> TagModel: ...
    @property
    def calibrator(self) -> Calibrator | None: ...
    @property
    def thresholds(self) -> np.ndarray | None: ...


@dataclass(frozen=True, eq=False)
class Scorer:
    """A model that scores rows, and the calibrator and thresholds, if any, that say what its scores mean."""

    model: Any
    calibrator: Calibrator | None = None
    thresholds: np.ndarray | None = None

    @classmethod
    def of(cls, model: Any) -> "Scorer":
        """Makes the scorer of a model, a tagger, or anything with `score_blocks`, `top_k` and `proba`."""
        if isinstance(model, ModelHolder):
            return cls(model.model, model.calibrator, model.thresholds)
        return cls(model, None, getattr(model, "thresholds", None))

    def proba(self, scores: np.ndarray, tags: np.ndarray | None = None) -> np.ndarray:
        """Scores as probabilities of being right; `tags` are theirs, or the columns are all tags in order."""
        return self.calibrator(scores, tags) if self.calibrator else self.model.proba(scores)

    def parts(self) -> dict[str, Any]:
        """The scorer as plain data and arrays; a model of no known class goes as it is."""
        return {
            "model": self.model.parts() if isinstance(self.model, TagModel) else self.model,
            "calibrator": (self.calibrator.name, self.calibrator.to_arrays()) if self.calibrator else None,
            "thresholds": self.thresholds,
        }

    @classmethod
    def from_parts(cls, parts: dict[str, Any]) -> "Scorer":
        """Makes the scorer again whose `parts` these are."""
        model, calibrator = parts["model"], None
        if parts["calibrator"]:
            name, arrays = parts["calibrator"]
            calibrator = CALIBRATORS[name].from_arrays(arrays)
        return cls(from_parts(model) if isinstance(model, dict) else model, calibrator, parts["thresholds"])


class ShardedScores:
    """The `PartitionedScores` of a model, or a tagger, on rows in shards.

    Where all scores are few they stay beside their shards once a step has needed them.
    """

    def __init__(self, model: Any, rows: Rows, executor: Executor | None = None) -> None:
        self.scorer = Scorer.of(model)
        self.shape = rows.n_rows, rows.n_labels
        slices = row_shards(rows.n_rows, shard_count(*self.shape))
        load = load_part if rows.n_rows <= _HELD_ROWS else _unloaded
        self._shards = Shards([rows.part(s) for s in slices], load, executor, [s.start for s in slices])
        self._shards.keep(scorer=self.scorer.parts())
        self._few = rows.n_rows * rows.n_labels <= KEPT_CELLS
        self._kept = False

    def top_k(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(tags, scores) of all rows, two (n, min(k, L)) arrays, as the model's own `top_k`."""
        tops = self._shards.collect(top_of_shard, k=k)
        return np.concatenate([top["tags"] for top in tops]), np.concatenate([top["scores"] for top in tops])

    def collect(self, step: Callable[..., Any], **shared: Any) -> list:
        self._keep_if_few()
        return self._shards.collect(_StepOnShard(step), **shared)

    def sum(self, step: Callable[..., dict[str, Any]], **shared: Any) -> dict[str, Any]:
        self._keep_if_few()
        return self._shards.sum(_StepOnShard(step), **shared)

    def _keep_if_few(self) -> None:
        if self._few and not self._kept:
            self._shards.update(_keep_scores)
            self._kept = True


def shard_count(n_rows: int, n_labels: int) -> int:
    """How many shards n × L scores are made in."""
    rows = min(max(_SHARD_CELLS // max(n_labels, 1), _FEWEST_ROWS), _MOST_ROWS)
    return max(-(-n_rows // rows), *(min(shards, -(-n_rows // each)) for shards, each in _AT_LEAST))


def top_of_shard(shard: Shard, state: Arrays, *, scorer: dict[str, Any], k: int) -> Arrays:
    """Ranks the k best tags of every row of a shard."""
    X, _ = load_part(shard.data)
    tags, scores = Scorer.from_parts(scorer).model.top_k(X, k)
    return {"tags": tags, "scores": scores}


@dataclass(frozen=True)
class _StepOnShard:
    """A step on a `ScorePart` as a step on a shard; `func` has the name that a dashboard shows."""

    func: Callable

    def __call__(self, shard: Shard, state: Arrays, *, scorer: dict[str, Any], **shared: Any) -> Any:
        return self.func(_score_part(shard, state, scorer), **shared)


def _keep_scores(shard: Shard, state: Arrays, *, scorer: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    part = _score_part(shard, state, scorer)
    ours = isinstance(part.scorer.model, TagModel)  # any other may use its block again
    return {"blocks": tuple(scores if ours else scores.copy() for _, scores in part.blocks())}, {}


def _score_part(shard: Shard, state: dict[str, Any], parts: dict[str, Any]) -> ScorePart:
    X, Y = load_part(shard.data)
    scorer = Scorer.from_parts(parts)
    score_blocks = partial(_numbered, state["blocks"]) if state else partial(scorer.model.score_blocks, X)
    return ScorePart(score_blocks, label_matrix(Y, X.shape[0]), shard.first, X, scorer)


def _numbered(blocks: tuple[np.ndarray, ...]) -> Iterator[tuple[slice, np.ndarray]]:
    """(rows, scores) of kept blocks, as `score_blocks` gives them."""
    row = 0
    for block in blocks:
        yield slice(row, row + len(block)), block
        row += len(block)


def _unloaded(part: Any) -> Any:
    return part
