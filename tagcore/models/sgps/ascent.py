"""The way to the mode of the posterior: limited-memory BFGS on shards of rows, preconditioned.

Far from the mode Newton's steps overshoot, because rows that are surely mistaken hardly curve the likelihood: tens of
steps, each with tens of products, are cut short. Steps of L-BFGS are nearly always taken whole, and each is one pass
through the rows. Close to the mode, and where features are float32, Newton's method (`mode.py`) is more exact.

State of a shard: F, the latents of its rows at the point reached before the last step, and D, what that step would add
as a whole; both in the precision of the features.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tagcore.models.sgps.class_curvature import Precondition, class_wise_preconditioner
from tagcore.models.sgps.features import FeatureRows, FeatureShards
from tagcore.models.sgps.softmax import likelihood_and_residuals, probabilities
from tagcore.numeric.quasi_newton import uphill_direction
from tagcore.progress import Progress
from tagcore.shards import Arrays, Shard, Shards
from tagcore.training import Checkpoints, Measures, Trained, train

_STEPS = 10  # of a round, after which the preconditioner is made anew
_REMEMBERED = 20  # steps that say how the posterior curves
_SPAN = 5  # steps whose gain is compared with that of as many before
_GRAM_ROWS = 20  # for every prototype, of which the preconditioner is made: more would not make it better
_CACHED_CELLS = 2**19  # features that fit into the cache of a core, for both of their products
_ASCENT, _SHORTEST = 1e-4, 1e-8
_FASTEST, _SLOWEST = 0.5, 0.95  # that the gain of the next span may be of the last one's
_SEEN = 0.01  # of the tolerance: so near, as far as curvature was met, nothing is left to be gained


@dataclass(frozen=True, eq=False)
class Ascent:
    """Learner of the mode, from U = `start`; a round is ten steps, or fewer where the last comes nearer than `tol`."""

    features: FeatureShards
    amplitudes: np.ndarray
    start: np.ndarray
    tol: float

    def init(self, shards: Shards) -> Arrays:
        """Gives the start, its objective and gradient."""
        shards.update(origin_step, n_classes=self.amplitudes.size)
        objective, gradient = self._go(shards, self.start, self.start, 0.0)
        none = np.zeros((0, *self.start.shape))
        path = Path(self.start, gradient, np.array([objective]), none, none)
        return path.arrays(length=1.0)  # from zero

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        """Makes steps; the distance is by what their gains, which fall ever more, leave to be gained."""
        path = Path(**{name: values for name, values in arrays.items() if name != "length"})
        precondition = self._preconditioner(shards, float(arrays["length"]))
        length, steps, distance = 0.0, 0, np.inf
        while steps < _STEPS and distance >= self.tol:
            direction = uphill_direction(path.gradient, path.moves, path.falls, precondition)
            slope = float(np.vdot(path.gradient, direction))
            seen = float(np.sqrt(max(slope, 0.0) / direction.size))  # of the distance, by curvature as it was met
            if seen < _SEEN * self.tol:
                distance = seen
                break
            length, objective, gradient = self._line_search(shards, path, direction, slope, length)
            steps += 1
            if length == 0.0:
                distance = seen
                break
            path = path.longer(length * direction, objective, gradient)
            distance = remaining_distance(path.objectives, direction.size)
        measures = {"objective": float(path.objectives[-1]), "distance": distance}
        return path.arrays(length), measures | {"steps": float(steps), "step": length}

    def done(self, history: list[Measures]) -> bool:
        """Tells whether the mode is near, or no step along the gradient went up."""
        return history[-1]["distance"] < self.tol or history[-1]["step"] == 0.0

    def _line_search(
        self, shards: Shards, path: "Path", direction: np.ndarray, slope: float, length: float
    ) -> tuple[float, float, np.ndarray]:
        """(length, objective, gradient) of the longest step tried that goes up by enough; 0 where even the shortest
        does not. `length` is that of the step before."""
        objective, gradient = self._go(shards, direction, path.U + direction, length)
        length = 1.0
        while objective < path.objectives[-1] + _ASCENT * length * slope:
            if length < _SHORTEST:
                return 0.0, objective, gradient
            fallen = slope - float(np.vdot(gradient, direction))  # a line through both slopes says where it is zero
            length *= min(0.5, max(0.1, slope / fallen)) if fallen > 0.0 else 0.5
            objective, gradient = self._look(shards, path.U + length * direction, length)
        return length, objective, gradient

    def _go(self, shards: Shards, direction: np.ndarray, U: np.ndarray, length: float) -> tuple[float, np.ndarray]:
        """(objective, gradient) at U, a whole step away from where a step of this length in the last direction led."""
        V = self.features.inwards(direction * self.amplitudes)
        return self._whole(shards.update(ascent_step, V=V, length=length), U)

    def _look(self, shards: Shards, U: np.ndarray, length: float) -> tuple[float, np.ndarray]:
        """The same at U, a shorter step away."""
        return self._whole(shards.sum(shorter_step, length=length), U)

    def _whole(self, sums: Arrays, U: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = self.features.outwards(sums["gradient"]) * self.amplitudes - U
        return float(sums["objective"]) - 0.5 * float(np.vdot(U, U)), gradient

    def _preconditioner(self, shards: Shards, length: float) -> Precondition:
        every = max(1, self.features.n_rows // (_GRAM_ROWS * self.features.basis.size))
        sums = shards.update(curvature_step, length=length, every=every)
        gram = self.features.outwards_twice(np.asarray(sums["gram"], np.float64))
        return class_wise_preconditioner(gram, sums["totals"], self.amplitudes)


@dataclass(frozen=True, eq=False)
class Path:
    """Where an ascent is, and what its last steps tell: how far they moved, and how much the gradient fell in each."""

    U: np.ndarray
    gradient: np.ndarray
    objectives: np.ndarray  # of the last points
    moves: np.ndarray
    falls: np.ndarray

    def longer(self, move: np.ndarray, objective: float, gradient: np.ndarray) -> "Path":
        """Gives the path with one more step."""
        moves, falls, fall = self.moves, self.falls, self.gradient - gradient
        if np.vdot(move, fall) > 0.0:  # else it is rounding
            moves = np.concatenate([moves, move[None]])[-_REMEMBERED:]
            falls = np.concatenate([falls, fall[None]])[-_REMEMBERED:]
        objectives = np.append(self.objectives, objective)[-1 - 2 * _SPAN :]
        return Path(self.U + move, gradient, objectives, moves, falls)

    def arrays(self, length: float) -> Arrays:
        """Gives what a round passes to the next; `length` is that of the last step, which the shards' F has not gone
        yet."""
        return {**vars(self), "length": np.asarray(length)}


def ascend(
    features: FeatureShards,
    amplitudes: np.ndarray,
    start: np.ndarray,
    *,
    tol: float,
    max_rounds: int,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
) -> Trained:
    """Finds U of the mode, to about `tol` standard deviations of the posterior."""
    ascent = Ascent(features, amplitudes, start, tol)
    return train(ascent, features.shards, max_rounds=max_rounds, progress=progress, checkpoints=checkpoints)


def remaining_distance(objectives: np.ndarray, size: int) -> float:
    """Gives how far the mode is, in standard deviations (root mean square over latents), by these objectives of the
    last points: gains of a span of steps fall as those of the last two did. Infinite while there are too few."""
    if objectives.size <= 2 * _SPAN:
        return np.inf
    before, last = objectives[-1 - _SPAN] - objectives[-1 - 2 * _SPAN], objectives[-1] - objectives[-1 - _SPAN]
    share = np.clip(last / max(before, np.finfo(float).tiny), _FASTEST, _SLOWEST)
    return float(np.sqrt(2.0 * last * share / (1.0 - share) / size))


def origin_step(shard: Shard[FeatureRows], state: Arrays, n_classes: int) -> tuple[Arrays, Arrays]:
    """Step: latents of zero, from where the first step is the start."""
    F = np.zeros((shard.data.y.size, n_classes), shard.data.precision)
    return {"F": F, "D": F}, {}


def ascent_step(shard: Shard[FeatureRows], state: Arrays, V: np.ndarray, length: float) -> tuple[Arrays, Arrays]:
    """Step: goes as far in the last direction as it was taken, then all of the next; likelihood and gradient there."""
    data = shard.data
    F, sums = _moved(state, length), _Sums(*V.shape)
    D = np.empty_like(F)
    for rows, block in _cached_blocks(data):
        D[rows] = block @ V.astype(block.dtype, copy=False)
        sums.add(block, F[rows] + D[rows], data.y[rows])
    return {"F": F, "D": D}, sums.parts()


def shorter_step(shard: Shard[FeatureRows], state: Arrays, length: float) -> Arrays:
    """Step: likelihood and gradient after a part of the last step."""
    data, F = shard.data, _moved(state, length)
    sums = _Sums(data.basis.size, F.shape[1])
    for rows, block in _cached_blocks(data):
        sums.add(block, F[rows], data.y[rows])
    return sums.parts()


def curvature_step(shard: Shard[FeatureRows], state: Arrays, length: float, every: int) -> tuple[Arrays, Arrays]:
    """Step: Φᵀ diag(w) Φ, w_n the mean curvature of a row over classes, and the total of every class, of every so
    many-th row, which counts as many times; the last step is gone."""
    F, M = _moved(state, length), shard.data.basis.size
    gram, totals = np.zeros((M, M)), np.zeros(F.shape[1])
    for rows, block in shard.data.rounded_blocks():
        P = probabilities(F[rows][::every])
        curvatures = P * (1.0 - P)
        weighted = block[::every] * np.sqrt(every * curvatures.sum(axis=1) / max(1, P.shape[1] - 1))[:, None]
        gram += weighted.T @ weighted
        totals += every * curvatures.sum(axis=0, dtype=np.float64)
    return {"F": F, "D": np.zeros_like(F)}, {"gram": gram, "totals": totals}


class _Sums:
    """Likelihood and its gradient, in float64, of blocks of rows."""

    def __init__(self, n_prototypes: int, n_classes: int) -> None:
        self.objective, self.gradient = 0.0, np.zeros((n_prototypes, n_classes))

    def add(self, block: np.ndarray, F: np.ndarray, y: np.ndarray) -> None:
        likelihood, R = likelihood_and_residuals(F, y)
        self.objective += likelihood
        self.gradient += (R.T @ block).T

    def parts(self) -> Arrays:
        return {"objective": np.asarray(self.objective), "gradient": self.gradient}


def _moved(state: Arrays, length: float) -> np.ndarray:
    return state["F"] + state["D"].dtype.type(length) * state["D"]


def _cached_blocks(data: FeatureRows) -> Iterator[tuple[slice, np.ndarray]]:
    size = max(1, _CACHED_CELLS // data.basis.size)
    for rows, block in data.rounded_blocks():
        for first in range(0, len(block), size):
            part = block[first : first + size]
            yield slice(rows.start + first, rows.start + first + len(part)), part
