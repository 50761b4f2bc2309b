"""Where to cut a graph in two along an order of its nodes: the normalised cut at every place, exact, in one pass.

An edge is cut by every place between its two ends, so that the cut at all places is the running sum of one difference
for each end: shards add their differences up.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cut:
    """The first nodes of an order, and the normalised cut between them and the rest."""

    size: int
    ncut: float


def best_cut(differences: np.ndarray, degrees: np.ndarray, is_document: np.ndarray, min_documents: int) -> Cut | None:
    """Gives the cut of least Ncut with enough documents on both sides, of equals the first; None where there is none.

    All arrays are in the order of the nodes.
    """
    cut, volume = np.cumsum(differences)[:-1], np.cumsum(degrees)[:-1]
    documents = np.cumsum(is_document)[:-1]
    total, n_documents = float(degrees.sum()), int(is_document.sum())
    allowed = (documents >= min_documents) & (n_documents - documents >= min_documents)
    allowed &= (volume > 0) & (total - volume > 0)
    if not allowed.any():
        return None
    places = np.flatnonzero(allowed)
    cut, volume = np.maximum(cut[places], 0.0), volume[places]
    ncut = cut / volume + cut / (total - volume)
    best = int(np.argmin(ncut))
    return Cut(int(places[best]) + 1, float(ncut[best]))
