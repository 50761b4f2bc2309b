"""Rows that a model keeps, and a few of many that stand for all."""

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array, require_lists
from tagcore.class_model import LARGEST, Matrix
from tagcore.shards import Arrays

_FEWEST = 20
ROW_ARRAYS = ("row_starts_", "row_columns_", "row_values_")


def row_arrays(X: Matrix) -> Arrays:
    """Rows as the arrays by which they are stored, whether they are dense or CSR."""
    starts: np.ndarray
    if not isinstance(X, np.ndarray):
        starts, columns, values = X.indptr, X.indices, X.data
    else:  # zeros are stored, too: so the width can be proven
        n, width = X.shape
        starts, columns, values = width * np.arange(n + 1), np.tile(np.arange(width), n), X.ravel()
    arrays = starts.astype(np.int64), columns.astype(np.int32), np.asarray(values, np.float64)
    return dict(zip(ROW_ARRAYS, arrays, strict=True))


def kept_rows(starts: np.ndarray, columns: np.ndarray, values: np.ndarray, width: int, dense: bool) -> Matrix:
    """The rows of such arrays."""
    rows = sp.csr_matrix((values, columns, starts), shape=(starts.size - 1, width))
    return rows.toarray() if dense else rows


def require_rows(starts: np.ndarray, columns: np.ndarray, values: np.ndarray, width: int, dense: bool) -> int:
    """Raises ValueError unless these are the arrays of at least one row; gives how many there are."""
    require_lists(starts, columns, starts.size - 1, width, "kept rows")
    require_array(values, columns.shape, np.float64, "values of kept rows", -LARGEST, LARGEST)
    if starts.size < 2:
        raise ValueError("no rows are kept, expected at least one")
    if dense and (np.diff(starts) != width).any():
        raise ValueError(f"kept rows are dense, expected {width} values of each")
    return starts.size - 1


def stratified(y: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Numbers of `size` rows, rising: of every class its share, and at least one row."""
    if size >= y.size:
        return np.arange(y.size)
    order = rng.permutation(y.size)  # drawn before classes are looked at: their names say nothing
    counts = np.bincount(y)
    quota = np.maximum(1, np.floor(size * counts / y.size)).astype(np.int64)
    for c in np.argsort(quota - size * counts / y.size, kind="stable")[: max(0, size - int(quota.sum()))]:
        quota[c] += 1
    place = np.empty(y.size, np.int64)
    by_class = np.argsort(y[order], kind="stable")
    place[order[by_class]] = np.arange(y.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.flatnonzero(place < quota[y])


def one_hot(y: np.ndarray, n_classes: int) -> np.ndarray:
    """1 in the column of every row's class."""
    return np.eye(n_classes)[y]


def active_count(active: int | float, n_rows: int, n_classes: int) -> int:
    """How many rows are active, given their number or a share, which means 20 at least: never fewer than classes, or
    more than there are."""
    number = active if isinstance(active, int | np.integer) else max(_FEWEST, round(active * n_rows))
    return min(max(int(number), n_classes), n_rows)
