"""Tags of rows as matrices: how often each tag was given to each row, and which cells were looked at."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.scikit import check_array


def label_matrix(y: Any, n: int) -> sp.csr_matrix:
    """Tags or their counts, CSR or dense, as a CSR matrix (n, L) without stored zeros; one dimension is one tag."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    _refuse_class_labels(y)
    Y = check_array(y, accept_sparse="csr", dtype=np.float64, ensure_2d=False, ensure_min_samples=0, input_name="y")
    Y = sp.csr_matrix(Y if Y.ndim == 2 else np.reshape(Y, (-1, 1)), copy=True)  # y stays the caller's
    if Y.shape[0] != n:
        raise ValueError(f"X has {n} rows, y has {Y.shape[0]}: inconsistent numbers of samples")
    if Y.nnz and Y.data.min() < 0:
        at = int(Y.data.argmin())
        row = int(np.searchsorted(Y.indptr, at, side="right")) - 1
        raise ValueError(f"y holds a negative count {Y.data[at]} in row {row}, tag {Y.indices[at]}")
    Y.sum_duplicates()
    Y.eliminate_zeros()
    return Y


def _refuse_class_labels(y: Any) -> None:
    """Raises where y lists one class for each row, which would be taken for counts of a single tag."""
    if isinstance(y, list | tuple) and any(isinstance(tags, list | tuple | set) and _are_names(tags) for tags in y):
        raise ValueError(
            "y lists the tags of each row by name, expected rows × tags: Corpus.from_texts(texts, tags).tags, or what "
            "sklearn.preprocessing.MultiLabelBinarizer makes of lists of tags"
        )
    labels = None if sp.issparse(y) else np.asarray(y)
    if labels is None or labels.ndim != 1 or not labels.size:
        return
    kind = labels.dtype.kind
    others = labels if kind in "OUS" else labels[(labels != 0) & (labels != 1)]
    if others.size and (kind in "OUS" or np.isfinite(others).all()):  # what is not finite is told by its own check
        first = others[:1].tolist()[0]
        raise ValueError(
            f"y has one dimension and holds {first!r}: one class for each row? Expected rows × tags, as "
            "sklearn.preprocessing.LabelBinarizer makes of classes and MultiLabelBinarizer of lists of tags"
        )


def _are_names(tags: Any) -> bool:
    return any(isinstance(tag, str) for tag in tags)


def present_labels(y: Any, n: int) -> sp.csr_matrix:
    """As `label_matrix`, but a matrix that needs no change is given back itself, not a copy: it is for reading only."""
    if not isinstance(y, sp.csr_matrix) or y.shape[0] != n or not y.has_canonical_format:
        return label_matrix(y, n)
    whole = y.nnz == 0 or (y.data.min() > 0 and y.data.max() < np.inf)  # False for NaN, too
    return y if whole else label_matrix(y, n)


def observed_cells(observed: Any, shape: tuple[int, int]) -> sp.csr_matrix:
    """The cells of y that were looked at, CSR or dense, as a CSR matrix of ones."""
    checked = check_array(observed, accept_sparse="csr", dtype=np.float64, input_name="observed")
    cells = sp.csr_matrix(checked, copy=True)  # observed stays the caller's
    if cells.shape != shape:
        raise ValueError(f"observed has shape {cells.shape}, expected that of y, {shape}")
    cells.sum_duplicates()
    cells.eliminate_zeros()
    if cells.nnz == 0:
        raise ValueError("observed hides every cell of y: there is nothing to learn from")
    if cells.data.min() < 0:
        raise ValueError(f"observed holds {cells.data.min()}, expected 0 or, where a cell was looked at, more")
    cells.data[:] = 1.0
    return cells
