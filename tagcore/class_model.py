"""What every classifier is: it learns the one class of every row. scikit-learn's conventions around two hooks."""

from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tagcore.base import Estimator, block_rows, restore_on_failure
from tagcore.parameters import Whole, check_limits
from tagcore.progress import Progress, no_progress
from tagcore.shards import Executor, InProcess, one_blas_thread
from tagcore.training import Checkpoints, FitContext

Matrix: TypeAlias = np.ndarray | sp.csr_matrix  # rows of numbers: dense float64, row after row, or CSR of float64
LARGEST = 1e100  # number of a row: its square is a number still


class ClassModel(ClassifierMixin, Estimator, abstract=True):
    """A model that learns which one of several classes a row of numbers is of.

    A subclass writes `_fit(X, y, context)`, which sets its arrays and facts, `_proba(X)` and, for what it keeps,
    `_check_state()`. X is dense or CSR, as the caller had it, and checked: none beyond 1e100, columns in order, once.
    y are class numbers 0..C - 1, each of some row; C may be 1. `_proba` gives (n, C) probabilities whose rows add up
    to 1, of few rows at a time: as many as `_cells_per_row()` says. A model that can say how likely the training data
    are under it sets `log_evidence_` and names it in `_facts`. See `Estimator` for what names its state.
    """

    learns_from = "classes"
    _common_facts: ClassVar[tuple[str, ...]] = ("n_features_in_", "class_labels_")

    n_features_in_: int
    class_labels_: list  # the classes in y, in order: words, whole numbers, numbers or truth values

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        executor: Executor | None = None,
        progress: Progress | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> Self:
        """Learns from rows X (n × D, dense or sparse) and their classes y (n). Models that learn in rounds keep
        checkpoints."""
        self._check_params()
        checked, classes = clone(self)._rows_and_classes(X, y)  # by a clone: until it is learnt, what was known stays
        labels, numbers = np.unique(classes, return_inverse=True)
        context = FitContext(executor or InProcess(), progress or no_progress, checkpoints)
        with restore_on_failure(self):
            self._fit(checked, numbers.astype(np.int64, copy=False), context)
            self.class_labels_ = labels.tolist()
            self.__dict__.pop("feature_names_in_", None)
            validate_data(self, X, skip_check_array=True)  # remembers how many columns there are, and their names
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the columns of `predict_proba`."""
        return np.array(self.class_labels_)

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of every row, ties to the first."""
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Dense (n, C), rows add up to 1."""
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        n, step = X.shape[0], block_rows(max(self._cells_per_row(), len(self.class_labels_)))
        with one_blas_thread():  # beside other work, threads that wait for one another take seconds for two rows
            return np.concatenate([self._proba(X[start : start + step]) for start in range(0, n, step)])

    def _fit(self, X: Matrix, y: np.ndarray, context: FitContext) -> None:
        """Learns from checked rows; `n_features_in_` and `class_labels_` still are those of what was known before."""
        raise NotImplementedError  # abstract

    def _proba(self, X: Matrix) -> np.ndarray:
        raise NotImplementedError  # abstract

    def _cells_per_row(self) -> int:
        """How many numbers are held for one row while it is scored: training rows, say, or prototypes."""
        return len(self.class_labels_)

    def _check_state(self) -> None:
        """Proves the sizes that other checks lean on; a subclass adds what it keeps."""
        check_limits({"n_features_in_": Whole()}, self)
        labels = self.class_labels_
        one_kind = isinstance(labels, list) and {type(label) for label in labels} in ({str}, {int}, {float}, {bool})
        if not one_kind or not all(low < high for low, high in pairwise(labels)):
            raise ValueError(f"classes {labels!r:.100}, expected different ones of one kind, in order")

    def _rows(self, X: Any, *, reset: bool) -> Matrix:
        return _checked(validate_data(self, X, accept_sparse="csr", dtype=np.float64, order="C", reset=reset))

    def _rows_and_classes(self, X: Any, y: Any) -> tuple[Matrix, np.ndarray]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C")
        check_classification_targets(y)
        return _checked(X), y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _checked(X: Any) -> Matrix:
    """Rows in order; ValueError names a number whose square may be none."""
    X = _ordered(X)
    values = X.data if sp.issparse(X) else X
    if values.size and max(values.max(), -values.min()) > LARGEST:
        row, column = (int(numbers[0]) for numbers in (abs(X) > LARGEST).nonzero())
        raise ValueError(f"row {row}, column {column} of X is {X[row, column]:g}, expected -{LARGEST:g} to {LARGEST:g}")
    return X


def _ordered(X: Any) -> Matrix:
    """CSR with columns in order and each once, or the dense array as it is; the caller's matrix stays as it is."""
    if not sp.issparse(X):
        return X
    X = sp.csr_matrix(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
