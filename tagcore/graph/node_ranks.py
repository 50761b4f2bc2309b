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


def node_ranks(
    Y: sp.csr_matrix,
    documents: np.ndarray,
    tags: np.ndarray,
    n_clusters: int,
    *,
    delta: float = 1.0,
    scale: str = "cluster",
) -> NodeRanks:
    """Ranks tags by the taggings Y (documents × tags), given the cluster of every document and tag.

    `delta` keeps the recall of a tag that never leaves its cluster finite. `scale` = "none" is the published rank;
    with "cluster" the best tag of each cluster has the rank 1/e, so that clusters compete by their posterior alone.
    """
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {SCALES}, got {scale!r}")
    edges = Y.tocoo()
    total = np.bincount(edges.col, edges.data, Y.shape[1])
    own = (documents[edges.row] == tags[edges.col]) & (documents[edges.row] >= 0)
    inside = np.bincount(edges.col, edges.data * own, Y.shape[1])
    known = tags >= 0
    volume = np.bincount(tags[known], inside[known], n_clusters)
    precision = np.divide(inside, volume[tags], out=np.zeros(inside.size), where=known & (inside > 0))
    recall = (total + delta) / (total - inside + delta)
    r = precision * np.log(recall)
    shares = r
    if scale == "cluster":
        best = np.zeros(n_clusters)
        np.maximum.at(best, tags[known], r[known])
        shares = np.divide(r, best[tags], out=np.zeros(r.size), where=r > 0)
    with np.errstate(divide="ignore", over="ignore"):
        log_rank = np.where(shares > 0, -1.0 / shares**2, -np.inf)
    return NodeRanks(precision, recall, r, log_rank)


def tag_shares(Y: sp.csr_matrix, documents: np.ndarray, n_clusters: int, mu: float) -> sp.csr_matrix:
    """Gives f(tag | cluster), clusters × tags: shares of its taggings, `mu` of each from all clusters."""
    if not 0 <= mu <= 1:
        raise ValueError(f"mu must be a share from 0 to 1, got {mu}")
    kept = np.flatnonzero(documents >= 0)
    members = sp.csr_matrix((np.ones(kept.size), (documents[kept], kept)), shape=(n_clusters, Y.shape[0]))
    counts = sp.csr_matrix(members @ Y)
    totals = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1e-300)
    shares = sp.csr_matrix(sp.diags(1.0 / totals) @ counts)
    if mu == 0:
        return shares
    everywhere = np.asarray(Y.sum(axis=0)).ravel()
    everywhere = everywhere / max(everywhere.sum(), 1e-300)
    return sp.csr_matrix((1 - mu) * shares + mu * sp.csr_matrix(np.tile(everywhere, (n_clusters, 1))))
