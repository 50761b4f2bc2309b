"""One linear machine per tag, all of them over one shared copy of the rows."""

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from tagcore.base import TagModel, require_csr, require_vector
from tagcore.baselines.working_set import LANES, Settings, shared_rows, solve_tags
from tagcore.kernels.linear import add_scores
from tagcore.shards import Arrays, freeze, row_shards

_MAX_SHARDS = 64
_CERTAIN = 10.0  # the score of a tag that every training document has; minus it, of one that none has


class OneVsRestLinear(TagModel):
    """One-vs-rest linear support vector machines: liblinear's problem, solved faster when tags are many.

    min over w of ½‖w‖² + C Σ loss(y·w·x), dual, to liblinear's stopping rule, for each tag on its own. Weights below
    `prune` are dropped and the rest kept as a sparse float32 matrix, words × tags. A tag that no training document
    has, or that all have, has a constant score. `predict_proba` is the logistic function of the score, which orders
    tags but is not calibrated.

    Parameters
    ----------
    C : weight of the loss; larger fits the training documents more closely.
    loss : "squared_hinge" or "hinge".
    class_weight : "balanced" gives the documents with and without a tag the same total weight.
    normalise : bring rows to unit length first; convergence and `prune` expect values of about this size.
    fit_intercept : learn a constant beside the words; like liblinear's it is regularised with them.
    prune : weights of smaller magnitude are dropped; 0 keeps all.
    tol, max_iter : when a tag's descent ends, as in liblinear.
    random_state : the order in which documents are visited, keyed by tag.
    """

    _arrays = ("coef_data_", "coef_indices_", "coef_indptr_", "intercept_")
    _facts = ("n_iter_",)

    coef_data_: np.ndarray
    coef_indices_: np.ndarray
    coef_indptr_: np.ndarray
    intercept_: np.ndarray
    n_iter_: int

    def __init__(
        self,
        C: float = 0.5,
        loss: str = "squared_hinge",
        class_weight: str | None = None,
        normalise: bool = True,
        fit_intercept: bool = True,
        prune: float = 0.01,
        tol: float = 0.01,
        max_iter: int = 1000,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.normalise = normalise
        self.fit_intercept = fit_intercept
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """The logistic function of the scores."""
        return expit(scores)

    def _fit(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
        settings = self._settings()
        carriers = np.bincount(Y.indices, minlength=Y.shape[1])
        learnable = np.flatnonzero((carriers > 0) & (carriers < Y.shape[0]))
        self.intercept_ = np.where(carriers > 0, _CERTAIN, -_CERTAIN).astype(np.float32)
        solved = self._solve(settings, X, sp.csr_matrix(Y.T)[learnable], learnable)
        self.n_iter_ = int(solved["passes"].max(initial=1))
        unsolved = int(np.count_nonzero(solved["gaps"] > self.tol))
        if unsolved:
            warnings.warn(
                f"{unsolved} of {learnable.size} tags did not converge within max_iter={self.max_iter} passes",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.intercept_[learnable] = solved["intercepts"]
        counts = np.zeros(Y.shape[1], np.int64)
        counts[learnable] = solved["counts"]
        ends = np.concatenate([[0], np.cumsum(counts)])
        coef = sp.csc_matrix((solved["values"], solved["words"], ends), shape=(X.shape[1], Y.shape[1])).tocsr()
        self.coef_data_ = coef.data
        self.coef_indices_ = coef.indices.astype(np.int32)
        self.coef_indptr_ = coef.indptr.astype(np.int64)

    def _solve(self, settings: Settings, X: sp.csr_matrix, carriers: sp.csr_matrix, tags: np.ndarray) -> Arrays:
        """The machines of all tags, spread over shards of tags; no result depends on how they are cut."""
        rows = self._executor.share(shared_rows(self._scaled(X), self.fit_intercept, settings.seed))
        cuts = row_shards(tags.size, min(_MAX_SHARDS, -(-tags.size // LANES) or 1))
        calls, solved = [], []
        for cut in cuts:
            part = {"number": tags[cut], "indices": carriers[cut].indices, "indptr": carriers[cut].indptr}
            calls.append(self._executor.call(solve_tags, settings, freeze(part), rows))
        for done, call in enumerate(calls, start=1):
            solved += self._executor.get([call])
            self._progress(done, len(calls), {})
        return {key: np.concatenate([part[key] for part in solved]) for key in solved[0]}

    def _settings(self) -> Settings:
        """The parameters, checked."""
        if not 0 < self.C < np.inf:
            raise ValueError(f"C must be positive, got {self.C!r}")
        if self.loss not in ("squared_hinge", "hinge"):
            raise ValueError(f'loss must be "squared_hinge" or "hinge", got {self.loss!r}')
        if self.class_weight not in (None, "balanced"):
            raise ValueError(f'class_weight must be None or "balanced", got {self.class_weight!r}')
        if not self.tol > 0:
            raise ValueError(f"tol must be positive, got {self.tol!r}")
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1, got {self.max_iter!r}")
        if not 0 <= self.prune < np.inf:
            raise ValueError(f"prune must be at least 0, got {self.prune!r}")
        return Settings(
            cost=self.C,
            squared=self.loss == "squared_hinge",
            balanced=self.class_weight == "balanced",
            tol=self.tol,
            max_iter=self.max_iter,
            seed=int(check_random_state(self.random_state).randint(2**31)),
            prune=self.prune,
        )

    def _scaled(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return normalize(X) if self.normalise else X

    def _check_state(self) -> None:
        coef = (self.coef_indptr_, self.coef_indices_, self.coef_data_)
        require_csr(*coef, self.n_features_in_, self.n_labels_, "coef_")
        require_vector(self.intercept_, self.n_labels_, "intercept_")

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        X = self._scaled(X)
        scores = np.tile(self.intercept_.astype(np.float64), (X.shape[0], 1))
        add_scores(X.data, X.indices, X.indptr, self.coef_data_, self.coef_indices_, self.coef_indptr_, scores)
        return scores
