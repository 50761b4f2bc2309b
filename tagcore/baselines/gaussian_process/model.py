"""What the classifiers of this package share: a covariance function, scales found by evidence, rows that are kept."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tagcore.base import require_array
from tagcore.baselines.gaussian_process.rows import ROW_ARRAYS, kept_rows, require_rows, row_arrays
from tagcore.baselines.gaussian_process.search import Scales, unit_of_rows, usual_length
from tagcore.class_model import LARGEST, ClassModel, Matrix
from tagcore.parameters import FLAG, Limit, Real, check_limits
from tagcore.shards import Shard, Shards
from tagcore.training import FitContext

LENGTH, AMPLITUDE = Real(least=1e-6, most=1e6, none=True), Real(least=1e-6, most=1e3)
JITTER = 1e-6  # of the squared amplitude, on the diagonal: rows that stand twice leave K positive definite


class Learnt(NamedTuple):
    """What learning gave: the kept rows, by number, the scales, and arrays and facts of the model's own."""

    rows: np.ndarray
    scales: Scales
    arrays: dict[str, np.ndarray]
    facts: dict[str, float]


class CovarianceModel(ClassModel, abstract=True):
    """A classifier whose answers come of the covariance of a new row with rows that it keeps.

    A subclass names its step `_learn(X, y, params)`, a function of its module: it runs where the executor says, on one
    thread, on rows divided by a common unit where they are far smaller or larger than standardised ones. It needs the
    parameters `covariance`, `length_scale` (None: half the median distance of rows), `amplitude` and, where it has
    one, `ard`.
    """

    _common_arrays = ("length_scales_", *ROW_ARRAYS)
    _common_facts = (*ClassModel._common_facts, "amplitude_", "dense_rows_")
    _learn: Callable[[Matrix, np.ndarray, dict[str, Any]], Learnt]

    length_scales_: np.ndarray  # one, or one for every column
    amplitude_: float
    dense_rows_: bool
    row_starts_: np.ndarray
    row_columns_: np.ndarray
    row_values_: np.ndarray

    def _fit(self, X: Matrix, y: np.ndarray, context: FitContext) -> None:
        shards = Shards([(X, y)], _as_it_is, context.executor)
        (learnt,) = shards.collect(_run, learn=type(self)._learn, params=self.get_params(deep=False))
        for name, value in {**row_arrays(X[learnt["rows"]]), **learnt["arrays"], **learnt["facts"]}.items():
            setattr(self, name, value)
        self.dense_rows_ = isinstance(X, np.ndarray)
        self.length_scales_, self.amplitude_ = learnt["lengths"], float(learnt["amplitude"])

    def _kept(self) -> tuple[Matrix, Any]:
        """The rows that are kept, and the covariance function."""
        width = self.n_features_in_
        rows = kept_rows(self.row_starts_, self.row_columns_, self.row_values_, width, self.dense_rows_)
        return rows, Scales(self.length_scales_, self.amplitude_).covariance(self.covariance)

    def _cells_per_row(self) -> int:
        return 2 * self.row_starts_.size + 8 * len(self.class_labels_)

    def _check_state(self) -> None:
        super()._check_state()
        facts: dict[str, Limit] = dict.fromkeys(self._facts, Real())
        check_limits(facts | {"amplitude_": AMPLITUDE, "dense_rows_": FLAG}, self)
        width = self.n_features_in_
        n = require_rows(self.row_starts_, self.row_columns_, self.row_values_, width, self.dense_rows_)
        scales = width if getattr(self, "ard", False) else 1
        least = max(float(np.finfo(np.float64).tiny), float(np.abs(self.row_values_).max(initial=0.0)) / LARGEST)
        require_array(self.length_scales_, (scales,), np.float64, "length scales", least)  # squares of rows are numbers
        self._check_own(n, len(self.class_labels_))

    def _check_own(self, n_rows: int, n_classes: int) -> None:
        """Raises ValueError where arrays of the model's own do not fit to so many kept rows and classes."""
        raise NotImplementedError  # abstract


def start_scales(X: Matrix, params: dict[str, Any]) -> Scales:
    """The scales that parameters name, or usual ones."""
    length = usual_length(X) if params["length_scale"] is None else params["length_scale"]
    return Scales(np.full(X.shape[1] if params.get("ard") else 1, float(length)), float(params["amplitude"]))


def covariance_matrix(name: str, scales: Scales, X: Matrix) -> np.ndarray:
    """K of all rows, with the jitter on its diagonal."""
    K = scales.covariance(name).between(X, X)
    K.flat[:: K.shape[0] + 1] += JITTER * scales.amplitude**2
    return K


def slopes_by_logs(name: str, scales: Scales, X: Matrix, K: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """⟨weights, ∂K / ∂ log of every scale⟩, the amplitude last."""
    by_lengths = scales.covariance(name).length_scale_slopes(X, X, K, weights)  # the jitter has weight 0: x - x = 0
    return np.append(by_lengths, 2.0 * np.einsum("ij,ij", weights, K))


def _as_it_is(part: Any) -> Any:
    return part


def _run(shard: Shard, state: Any, learn: Any, params: dict[str, Any]) -> dict[str, Any]:
    X, y = shard.data
    unit = unit_of_rows(X)
    given = params["length_scale"]
    learnt = learn(X / unit, y, params | {"length_scale": None if given is None else given / unit})
    return {
        "rows": learnt.rows,
        "lengths": learnt.scales.lengths * unit,
        "amplitude": learnt.scales.amplitude,
        "arrays": learnt.arrays,
        "facts": learnt.facts,
    }
