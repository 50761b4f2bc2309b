"""The graph as one matrix, and Ncut from its definition: what passes over shards are compared with.

Tags and words both touch documents only, so W of eq. 10 is one bipartite graph with the weights C = [γ·Y | B]. The
singular triplets (σ, u, v) of Ĉ = D_d^-½ C D_e^-½ give the eigenpairs 1 ∓ σ of its normalised Laplacian.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.graph.policies import scales


@dataclass(frozen=True, eq=False)
class WholeGraph:
    """Weights between documents and columns, all of positive degree, and which nodes of the data they are."""

    weights: sp.csr_matrix
    documents: np.ndarray  # the row in the data of each document
    columns: np.ndarray  # the column in [Y | B] of each column
    n_tags: int  # columns that are tags: these come first
    gamma: float

    @property
    def document_degrees(self):
        return np.asarray(self.weights.sum(axis=1)).ravel()

    @property
    def column_degrees(self):
        return np.asarray(self.weights.sum(axis=0)).ravel()

    @property
    def volume(self):
        return float(self.weights.sum())

    def normalised(self):
        """Gives Ĉ."""
        return sp.csr_matrix(sp.diags(self.document_degrees**-0.5) @ self.weights @ sp.diags(self.column_degrees**-0.5))

    def trivial_triplet(self):
        """Gives (1, √(d/vol), √(e/vol)), the first singular triplet of every graph."""
        return 1.0, np.sqrt(self.document_degrees / self.volume), np.sqrt(self.column_degrees / self.volume)


def whole_graph(Y, B, policy="balanced"):
    """Builds the graph of taggings Y (m × n, counts) and words B (m × p, counts), without nodes of degree 0."""
    Y, B = (sp.csr_matrix(matrix, dtype=np.float64) for matrix in (Y, B))
    gamma, beta = scales(Y.sum(), B.sum(), policy)
    C = sp.hstack([gamma * Y, beta * B], format="csr")
    C.eliminate_zeros()
    documents, columns = np.flatnonzero(np.diff(C.indptr)), np.unique(C.indices)
    n_tags = int(np.searchsorted(columns, Y.shape[1]))
    return WholeGraph(C[documents][:, columns], documents, columns, n_tags, gamma)


def normalised_cut(weights, row_side, column_side):
    """Gives Ncut of a bipartition from its definition."""
    edges = weights.tocoo()
    crossing = float(edges.data[row_side[edges.row] != column_side[edges.col]].sum())
    rows, columns = np.asarray(weights.sum(axis=1)).ravel(), np.asarray(weights.sum(axis=0)).ravel()
    inside = float(rows[row_side].sum() + columns[column_side].sum())
    outside = float(rows.sum() + columns.sum()) - inside
    if inside == 0 or outside == 0:
        return 0.0 if crossing == 0 else float("inf")
    return crossing / inside + crossing / outside
