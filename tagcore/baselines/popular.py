"""The same tags for every document: those used most."""

import numpy as np
import scipy.sparse as sp

from tagcore.base import best_k, require_array
from tagcore.features.rows import Rows
from tagcore.parameters import Choice, limits
from tagcore.tag_model import TagModel
from tagcore.training import FitContext


class Popular(TagModel):
    """Tags by how common they are in training, whatever the document says.

    Parameters
    ----------
    weight : "documents" scores a tag by the share of training documents that carry it, "counts" by its share of
        all counts.

    Examples
    --------
    >>> Popular().fit([[1.0], [2.0]], [[0, 1], [1, 1]]).top_k([[3.0]], 2)
    (array([[1, 0]]), array([[1. , 0.5]]))
    """

    _arrays = ("shares_",)
    _limits = limits(weight=Choice("documents", "counts"))

    shares_: np.ndarray

    def __init__(self, weight: str = "documents") -> None:
        self.weight = weight

    def _fit(self, rows: Rows, context: FitContext) -> None:
        Y = rows.labels(slice(0, rows.n_rows)).astype(np.float64, copy=False)
        if self.weight == "documents":
            self.shares_ = document_shares(Y)
        else:
            counts = np.asarray(Y.sum(axis=0), np.float64).ravel()
            self.shares_ = counts / max(counts.sum(), np.finfo(np.float64).tiny)

    def _check_state(self) -> None:
        super()._check_state()
        require_shares(self.shares_, self.n_labels_)

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        return np.tile(self.shares_, (X.shape[0], 1))

    def _top_k(self, X: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        tags, scores = best_k(self.shares_[None], k)
        return np.repeat(tags, X.shape[0], axis=0), np.repeat(scores, X.shape[0], axis=0)


def document_shares(Y: sp.csr_matrix) -> np.ndarray:
    """Gives the share of the documents that carry each tag."""
    return np.bincount(Y.indices, minlength=Y.shape[1]) / Y.shape[0]


def require_shares(shares: np.ndarray, n_labels: int) -> None:
    """Raises ValueError unless these are shares of documents, one for each tag."""
    require_array(shares, (n_labels,), np.float64, "shares_", 0, 1 + 1e-9)
