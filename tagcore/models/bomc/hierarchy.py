"""A hierarchy of tags as groups of siblings: a group stands side by side and is learnt only where its parent is."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp


class Siblings:
    """Columns of a model ordered by group, the topmost first; without parents all tags are one group, as they are.

    parents : for each tag the number of its parent, -1 at the top.
    """

    def __init__(self, parents: Sequence[int] | None, n_labels: int) -> None:
        self.parents = np.full(n_labels, -1) if parents is None else np.asarray(parents)
        self._check(n_labels)
        self.flat = bool((self.parents < 0).all())
        inner = np.unique(self.parents[self.parents >= 0])
        self.group_of = np.where(self.parents < 0, 0, 1 + np.searchsorted(inner, self.parents))
        self.order = np.argsort(self.group_of, kind="stable")  # column -> tag
        self.columns = np.argsort(self.order, kind="stable")  # tag -> column
        sizes = np.bincount(self.group_of, minlength=1 + inner.size)
        self.starts = np.concatenate(([0], np.cumsum(sizes)))
        self.hubs = np.concatenate(([0], 1 + inner))  # where a group's hub is kept: it stays when tags are added
        below = np.full(n_labels, -1)
        below[self.columns[inner]] = 1 + np.arange(inner.size)
        self.tree = self.starts, below  # what kernels read, by column
        self.levels = self._levels()

    @property
    def hub_of(self) -> np.ndarray:
        """The hub that each tag is measured against."""
        return self.hubs[self.group_of]

    def with_ancestors(self, Y: sp.csr_matrix) -> sp.csr_matrix:
        """Gives the tags of every row with all tags above them, by column."""
        Y = sp.csr_matrix((np.ones(Y.nnz, np.int32), Y.indices, Y.indptr), Y.shape)
        if self.flat:
            return Y
        up = Y
        for _ in self.levels:
            tags = sp.coo_matrix(up)
            at = self.parents[tags.col] >= 0
            up = sp.csr_matrix((tags.data[at], (tags.row[at], self.parents[tags.col[at]])), Y.shape)
            Y = Y + up
        Y = Y[:, self.order].tocsr()
        Y.sort_indices()
        return Y

    def path_scores(self, z: np.ndarray) -> np.ndarray:
        """Turns scores given the parent into scores of having the tag and all above it: probabilities multiply."""
        if self.flat:
            return z
        from scipy.special import log_ndtr, ndtri_exp  # here: few models have one, and all start the sooner

        joint = log_ndtr(z)
        for level in self.levels:
            joint[:, level] += joint[:, self.parents[level]]
        below = self.parents >= 0
        z = z.copy()
        z[:, below] = ndtri_exp(joint[:, below])
        return z

    def _levels(self) -> list[np.ndarray]:
        """Tags by depth, from those right below the top."""
        levels, above = [], np.flatnonzero(self.parents < 0)
        while (level := np.flatnonzero(np.isin(self.parents, above))).size:
            levels.append(level)
            above = level
        if sum(map(len, levels)) + np.count_nonzero(self.parents < 0) < self.parents.size:
            raise ValueError("parents must form a tree: some tags are above themselves")
        return levels

    def _check(self, n_labels: int) -> None:
        if self.parents.shape != (n_labels,) or self.parents.dtype.kind != "i":
            raise ValueError(f"parents must be one number for each of {n_labels} tags, -1 at the top")
        wrong = np.flatnonzero((self.parents < -1) | (self.parents >= n_labels))
        if wrong.size:
            tag = int(wrong[0])
            raise ValueError(f"the parent of tag {tag} is {self.parents[tag]}, expected -1 to {n_labels - 1}")
