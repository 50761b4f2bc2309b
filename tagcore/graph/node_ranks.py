"""How well a tag stands for its cluster: N-precision, N-recall and Rank (PMM, section 5).

Published ranks exp(-1/r²) underflow to 0 for nearly all tags: logarithms are kept everywhere.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

SCALES = ("cluster", "none")


@dataclass(frozen=True, eq=False)
class NodeRanks:
    """One value per tag; tags without an edge have precision 0, recall 1 and log rank -inf."""

    precision: np.ndarray  # share of its cluster's tag weight
    recall: np.ndarray  # weight of the tag over what leaves its cluster, at least 1
    r: np.ndarray  # precision · ln recall
    log_rank: np.ndarray  # -1 / r², r as a share of the best of its cluster under scale="cluster"


def cluster_counts(Y: sp.csr_matrix, documents: np.ndarray, n_clusters: int) -> sp.csr_matrix:
    """Gives the taggings of every cluster, clusters × tags, given the cluster of every document, -1 for none: counts
    of parts of the documents add up."""
    kept = np.flatnonzero(documents >= 0)
    members = sp.csr_matrix((np.ones(kept.size), (documents[kept], kept)), shape=(n_clusters, Y.shape[0]))
    return sp.csr_matrix(members @ Y)


def node_ranks(
    counts: sp.csr_matrix, totals: np.ndarray, tags: np.ndarray, *, delta: float = 1.0, scale: str = "cluster"
) -> NodeRanks:
    """Ranks tags by the taggings of every cluster and of all documents, given the cluster of every tag, -1 for none.

    `delta` keeps the recall of a tag that never leaves its cluster finite. `scale` = "none" is the published rank;
    with "cluster" the best tag of each cluster has the rank 1/e, so that clusters compete by their posterior alone.
    """
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {SCALES}, got {scale!r}")
    cells = counts.tocoo()
    own = cells.row == tags[cells.col]
    inside = np.bincount(cells.col, cells.data * own, totals.size)
    known = tags >= 0
    volume = np.bincount(tags[known], inside[known], counts.shape[0])
    precision = np.divide(inside, volume[tags], out=np.zeros(inside.size), where=known & (inside > 0))
    recall = (totals + delta) / (totals - inside + delta)
    r = precision * np.log(recall)
    shares = r
    if scale == "cluster":
        best = np.zeros(counts.shape[0])
        np.maximum.at(best, tags[known], r[known])
        shares = np.divide(r, best[tags], out=np.zeros(r.size), where=r > 0)
    with np.errstate(divide="ignore", over="ignore"):
        log_rank = np.where(shares > 0, -1.0 / shares**2, -np.inf)
    return NodeRanks(precision, recall, r, log_rank)


def tag_shares(counts: sp.csr_matrix, totals: np.ndarray, mu: float) -> sp.csr_matrix:
    """Gives f(tag | cluster), clusters × tags: shares of its taggings, `mu` of each from all documents."""
    if not 0 <= mu <= 1:
        raise ValueError(f"mu must be a share from 0 to 1, got {mu}")
    sums = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1e-300)
    shares = sp.csr_matrix(sp.diags(1.0 / sums) @ counts)
    if mu == 0:
        return shares
    everywhere = totals / max(totals.sum(), 1e-300)
    return sp.csr_matrix((1 - mu) * shares + mu * sp.csr_matrix(np.tile(everywhere, (counts.shape[0], 1))))
