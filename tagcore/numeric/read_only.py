"""Read-only arrays: nobody writes to what others read, and kernels, which are compiled for each kind, meet one kind."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp


def freeze(value: Any) -> Any:
    """Makes arrays read-only: as views, so that their owner may still write to its own."""
    if isinstance(value, dict):
        return {k: freeze(v) for k, v in value.items()}
    if type(value) is tuple:
        return tuple(freeze(v) for v in value)
    if isinstance(value, np.ndarray):
        if not value.flags.writeable:
            return value
        value = value.view()
        value.setflags(write=False)
    elif sp.issparse(value) and value.format in ("csr", "csc"):
        parts = freeze((value.data, value.indices, value.indptr))
        value = type(value)(parts, shape=value.shape, copy=False)
    return value


def frozen_rows(X: sp.csr_matrix, dtype: type | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gives (data, indices, indptr) of CSR rows as kernels take them; `dtype` is that of the data, where it matters.

    >>> [array.flags.writeable for array in frozen_rows(sp.csr_matrix([[1.0, 2.0]]))]
    [False, False, False]
    """
    data = X.data if dtype is None else X.data.astype(dtype, copy=False)
    return freeze((data, X.indices, X.indptr))


_frozen: WeakKeyDictionary[Any, tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]] = WeakKeyDictionary()


def frozen_arrays_of(owner: Any, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Gives read-only views of the arrays that a model asks kernels with, made anew only where it has others by now:
    views of six arrays take as long as a short question."""
    known = _frozen.get(owner)
    if known is None or any(now is not before for now, before in zip(arrays, known[0], strict=True)):
        known = _frozen[owner] = arrays, freeze(arrays)
    return known[1]
