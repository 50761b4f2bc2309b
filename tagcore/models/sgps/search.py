"""Hyper-parameters by evidence: L-BFGS on the logarithms of length scales and amplitudes, or a grid of 21 × 21."""

from dataclasses import dataclass

import numpy as np

from tagcore.models.sgps.basis import make_basis
from tagcore.models.sgps.evidence import evidence_slopes, laplace_evidence
from tagcore.models.sgps.rows import LabelledRows, Layout
from tagcore.numeric.dots import Matrix, squared_distances
from tagcore.numeric.scale_search import descend_logs

SCALE_BOUNDS, AMPLITUDE_BOUNDS = (-3.0, 5.0), (-2.0, 5.0)  # of natural logarithms
GRID = np.linspace(-1.0, 5.0, 21)
_TOLERANCE = 1e-3  # of the mode, in standard deviations
_SLOPE_TOLERANCE = 1e-3
_RESTARTS = 4
_TRIVIAL = 1e-3  # of evidence a row, above that of explaining nothing
_COMPARED = 500  # prototypes whose distances say where to begin


@dataclass(frozen=True, eq=False)
class Theta:
    """Length scale (0-d, or one a column) and the amplitude of every class."""

    length_scale: np.ndarray
    amplitudes: np.ndarray


@dataclass(frozen=True, eq=False)
class Found:
    """What the search found: parameters, their evidence on the rows searched, and whether they explain nothing."""

    theta: Theta
    evidence: float
    degenerate: bool
    at_bound: bool
    table: np.ndarray  # of the grid: length scale, amplitude, evidence; without rows otherwise


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows and prototypes on which parameters are judged."""

    data: LabelledRows
    prototypes: Matrix
    layout: Layout
    covariance: str
    kind: str  # of evidence
    jitter: float
    n_classes: int

    @property
    def trivial(self) -> float:
        """The evidence of explaining nothing, with a margin."""
        n = self.data.classes.size
        return -n * np.log(self.n_classes) + _TRIVIAL * n


def first_scale(prototypes: Matrix) -> float:
    """Gives half of the median distance between prototypes; 1 where most of them coincide."""
    some = prototypes[:: max(1, -(-prototypes.shape[0] // _COMPARED))]
    distances = squared_distances(some, some)[np.triu_indices(some.shape[0], 1)]
    middle = 0.5 * float(np.sqrt(np.median(distances))) if distances.size else 0.0
    return middle if middle > 0.0 else 1.0


def climb(problem: Problem, start: Theta, per_class: bool, rounds: int) -> Found:
    """Climbs the evidence by L-BFGS; begins again at twice the length scale where it ends in explaining nothing."""
    theta = start
    found = _climb(problem, theta, per_class, rounds)
    for _ in range(_RESTARTS):
        if not found.degenerate:
            break
        theta = Theta(theta.length_scale * 2.0, start.amplitudes)
        again = _climb(problem, theta, per_class, rounds)
        found = again if again.evidence > found.evidence or not again.degenerate else found
    return found


def _climb(problem: Problem, start: Theta, per_class: bool, rounds: int) -> Found:
    n_scales, n_amplitudes = start.length_scale.size, start.amplitudes.size if per_class else 1
    warm = np.zeros((problem.prototypes.shape[0], problem.n_classes))  # latents of the prototypes, as they were last
    best: tuple[float, np.ndarray] = (-np.inf, np.zeros(0))

    def negative_evidence(logs: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal warm, best
        theta = _theta(logs, start, problem.n_classes)
        basis = make_basis(problem.covariance, theta.length_scale, problem.prototypes, problem.jitter)
        features = problem.layout.features(problem.data, basis)
        whitened = basis.whiten(warm) / theta.amplitudes
        evidence = laplace_evidence(features, theta.amplitudes, whitened, problem.kind, tol=_TOLERANCE)
        slopes = evidence_slopes(features, theta.amplitudes, evidence, _SLOPE_TOLERANCE)
        warm = (basis.factor @ evidence.latents) * theta.amplitudes
        by_amplitude = slopes.amplitudes if per_class else slopes.amplitudes.sum(keepdims=True)
        if evidence.value > best[0]:
            best = evidence.value, logs.copy()
        return -evidence.value, -np.concatenate([slopes.length_scale, by_amplitude])

    bounds = [SCALE_BOUNDS] * n_scales + [AMPLITUDE_BOUNDS] * n_amplitudes
    logs = np.concatenate([np.log(np.atleast_1d(start.length_scale)), np.log(start.amplitudes[:n_amplitudes])])
    descend_logs(negative_evidence, n_scales, logs, bounds, rounds)
    value, logs = best
    lower, upper = np.array(bounds).T
    at_bound = bool(np.any((logs <= lower + 1e-6) | (logs >= upper - 1e-6)))
    theta = _theta(logs, start, problem.n_classes)
    return Found(theta, value, value <= problem.trivial, at_bound, np.empty((0, 3)))


def sweep(problem: Problem, scales: np.ndarray = GRID, amplitudes: np.ndarray = GRID) -> Found:
    """Tries every pair of a grid of logarithms; features are made once a length scale, and each mode starts warm."""
    table = []
    for log_scale in scales:
        basis = make_basis(problem.covariance, np.asarray(np.exp(log_scale)), problem.prototypes, problem.jitter)
        features = problem.layout.features(problem.data, basis)
        warm = np.zeros((basis.size, problem.n_classes))
        for log_amplitude in amplitudes:
            of_classes = np.full(problem.n_classes, np.exp(log_amplitude))
            evidence = laplace_evidence(features, of_classes, warm, problem.kind, tol=_TOLERANCE)
            warm = evidence.latents
            table.append((np.exp(log_scale), of_classes[0], evidence.value))
    scale, amplitude, value = max(table, key=lambda row: row[2])
    edges = {np.exp(values[at]) for values in (scales, amplitudes) for at in (0, -1)}
    theta = Theta(np.asarray(scale), np.full(problem.n_classes, amplitude))
    return Found(theta, value, value <= problem.trivial, bool({scale, amplitude} & edges), np.array(table))


def _theta(logs: np.ndarray, start: Theta, n_classes: int) -> Theta:
    n_scales = start.length_scale.size
    length_scale = np.exp(logs[:n_scales]).reshape(start.length_scale.shape)
    return Theta(length_scale, np.broadcast_to(np.exp(logs[n_scales:]), (n_classes,)).copy())
