"""One linear machine per tag, all learnt over one shared copy of the rows and kept as one sparse matrix."""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array, require_csr
from tagcore.baselines.linear.tag_blocks import BlockSettings, Solver, solve_tags
from tagcore.baselines.margin import MarginModel
from tagcore.features.rows import Rows, load_all
from tagcore.kernels.sparse import add_sparse_product
from tagcore.numeric.logistic import expit
from tagcore.numeric.normalise import normalise_rows
from tagcore.numeric.read_only import freeze, frozen_arrays_of, frozen_rows
from tagcore.parameters import MOST_BYTES, Whole
from tagcore.scikit import warn_of_convergence
from tagcore.scoring.explanation import Explanation
from tagcore.shards import Arrays, row_shards
from tagcore.training import FitContext

_MAX_SHARDS = 64
_CERTAIN = 10.0  # the score of a tag that every training document has; minus it, of one that none has


class _SparseLinear(MarginModel):
    """A model with a sparse matrix of weights, solved tag by tag.

    A subclass has the parameters `normalise`, `tol`, `max_iter`; it names its solver and how many tags that should
    get at a time, and writes `_prepare(X)`: its settings, checked, and the rows as its solver reads them. It may say
    how many documents a tag needs to be learnt (`_fewest_documents`).
    """

    _solver: ClassVar[Solver]
    _shard_tags: ClassVar[int]
    _arrays = ("coef_data_", "coef_indices_", "coef_indptr_", "intercept_")
    _facts = ("n_iter_",)
    _rounds = ("max_iter",)

    normalise: bool
    tol: float
    max_iter: int

    coef_data_: np.ndarray
    coef_indices_: np.ndarray
    coef_indptr_: np.ndarray
    intercept_: np.ndarray
    n_iter_: int

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Gives the logistic function of the scores."""
        return expit(scores)

    def explain(self, X: sp.csr_matrix, tag: int) -> Explanation:
        """Tells what each word of the one row X did to the score of the tag: x_d · w_dc."""
        row = self._scaled(self._checked(X))
        shape = self.n_features_in_, self.n_labels_
        coef = sp.csr_matrix((self.coef_data_, self.coef_indices_, self.coef_indptr_), shape=shape)
        push = row.data * coef[row.indices, tag].toarray().ravel().astype(np.float64)
        return Explanation(row.indices, push, None, float(self.intercept_[tag]))

    def _prepare(self, X: sp.csr_matrix) -> tuple[BlockSettings, Arrays]:
        raise NotImplementedError  # abstract

    def _fit(self, rows: Rows, context: FitContext) -> None:
        X, Y = load_all(rows)
        settings, shared_rows = self._prepare(self._scaled(X))
        carriers = np.bincount(Y.indices, minlength=Y.shape[1])
        learnable = np.flatnonzero((carriers >= self._fewest_documents(Y.shape[1])) & (carriers < Y.shape[0]))
        # tags of like frequency take like many passes, so the blocks end together; the longest go first
        learnable = learnable[np.argsort(-carriers[learnable], kind="stable")]
        everywhere = (carriers > 0) & (carriers == Y.shape[0])
        self.intercept_ = np.where(everywhere, _CERTAIN, -_CERTAIN).astype(np.float32)
        solved = self._solve(settings, shared_rows, sp.csr_matrix(Y.T)[learnable], learnable, context)
        self.n_iter_ = int(solved["passes"].max(initial=1))
        unsolved = int(np.count_nonzero(solved["gaps"] > self.tol))
        if unsolved:
            told = f"{unsolved} of {learnable.size} tags did not converge within max_iter={self.max_iter} passes"
            warn_of_convergence(told, stacklevel=4)
        self.intercept_[learnable] = solved["intercepts"]
        columns = np.repeat(learnable, solved["counts"])
        shape = X.shape[1], Y.shape[1]
        coef = sp.csr_matrix((solved["values"], (solved["words"], columns)), shape=shape)
        self.coef_data_ = coef.data
        self.coef_indices_ = coef.indices.astype(np.int32)
        self.coef_indptr_ = coef.indptr.astype(np.int64)

    def _fewest_documents(self, n_tags: int) -> int:
        """How many documents a tag needs to have a machine."""
        return 1

    def _solve(
        self,
        settings: BlockSettings,
        rows: Arrays,
        carriers: sp.csr_matrix,
        tags: np.ndarray,
        context: FitContext,
    ) -> Arrays:
        """Solves the machines of all tags, spread over shards of tags; no result depends on how they are cut."""
        shared = context.executor.share(rows)
        cuts = row_shards(tags.size, min(_MAX_SHARDS, -(-tags.size // self._shard_tags) or 1))
        calls, solved = [], []
        for cut in cuts:
            part = freeze({"number": tags[cut], "indices": carriers[cut].indices, "indptr": carriers[cut].indptr})
            solver = type(self)._solver
            calls.append(context.executor.call(solve_tags, solver, settings, part, shared))
        for done, call in enumerate(calls, start=1):
            solved += context.executor.get([call])
            context.progress(done, len(calls), {})
        return {key: np.concatenate([part[key] for part in solved]) for key in solved[0]}

    def _scaled(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return normalise_rows(X, self.normalise)

    def _check_state(self) -> None:
        super()._check_state()
        Whole(0, MOST_BYTES).check("n_iter_", self.n_iter_)
        coef = (self.coef_indptr_, self.coef_indices_, self.coef_data_)
        require_csr(*coef, self.n_features_in_, self.n_labels_, "coef_")
        require_array(self.intercept_, (self.n_labels_,), np.float32, "intercept_")

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        X = self._scaled(X)
        scores = np.empty((X.shape[0], self.n_labels_))
        scores[:] = self.intercept_
        coef = frozen_arrays_of(self, self.coef_data_, self.coef_indices_, self.coef_indptr_)
        add_sparse_product(*frozen_rows(X), *coef, scores)
        return scores
