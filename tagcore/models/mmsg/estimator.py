"""MMSG: tag suggestion by a Gaussian process over categories of documents (CIKM 2008)."""

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import Rows
from tagcore.models.mmsg.category_model import CATEGORY_LIMITS, CategoryModel
from tagcore.models.mmsg.row_keys import row_keys
from tagcore.models.sgps.checks import (
    ARRAYS,
    FACTS,
    LIMITS,
    check_learnt,
    check_together,
    keep_learnt,
    posterior_of,
)
from tagcore.models.sgps.learning import learn
from tagcore.models.sgps.posterior import Draws
from tagcore.models.sgps.rows import LabelledDocuments
from tagcore.numeric.normalise import normalise_rows
from tagcore.parameters import Choice, limits
from tagcore.scikit import check_random_state
from tagcore.shards import one_blas_thread
from tagcore.training import FitContext


class MMSG(CategoryModel):
    """Tags by category: a Gaussian process says which category a text is of, its documents which tags these have.

    The category of a document is its foremost tag. An `SGPS` learns categories from words; a tag's score is
    Σ_c p(c | text) s(t | c), s being how the documents of category c part their tags, so that scores add up to one. A
    probability is a score times the mean number of tags of a document.

    Take it where documents fall into some tens of categories of which tags follow, and probabilities should say how
    sure they are; where tags do not follow from one category, neighbours (`KNN`) or one machine a tag do better. Cost
    is that of `SGPS` with as many classes as categories.

    Parameters
    ----------
    n_categories : the most common tags that may be a category; None: all of them.
    min_docs : documents of a smaller category go to their next tag that is one.
    weights : "documents": every document of a category has one vote, parted among its tags; "counts": as many as it
        has taggings.
    normalise : bring rows to unit length first.
    n_prototypes, covariance, evidence, selector, start, snap, search, length_scale, amplitude, search_iter,
    search_rows, probability, tol, max_iter, epochs, rate, width, window, jitter, max_prototypes, mode, memory,
    n_shards, random_state : as of `SGPS`. Prototypes are documents (`snap`); where they would be too large to move,
        documents drawn category by category. `evidence="block"` allows probabilities that heed the variance
        (`probability="mackay"`), at a cost of C N M²; without it ("none") they are those of the mean. Draws of "sample"
        are those of a document's words, wherever it stands.
    length_scales : "shared" or "per_class", an amplitude for every category.

    Attributes
    ----------
    category_tags_ : the tag that each category is.
    n_untagged_, n_uncategorised_ : documents without a tag, and without a category, which taught nothing.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]] * 10
    >>> Y = [[2, 1, 0], [2, 0, 0], [0, 0, 1], [0, 1, 3]] * 10
    >>> model = MMSG().fit(X, Y)
    >>> model.top_k([[1.0, 0.0], [0.0, 1.0]], 1)[0].ravel().tolist()
    [0, 2]
    """

    _arrays = ARRAYS
    _facts = (*FACTS, "log_evidence_")
    _rounds = ("max_iter", "epochs", "search_iter")
    _limits = limits(
        **{name: limit for name, limit in LIMITS.items() if name not in ("scaling", "length_scales")},
        **CATEGORY_LIMITS,
        length_scales=Choice("shared", "per_class"),
    )

    prototype_values_: np.ndarray  # the prototypes as CSR rows
    prototype_columns_: np.ndarray
    prototype_starts_: np.ndarray
    prototype_classes_: np.ndarray
    length_scale_: np.ndarray
    amplitudes_: np.ndarray
    factor_: np.ndarray
    weights_: np.ndarray
    curvature_factors_: np.ndarray
    curvature_: str
    log_evidence_: float | None

    def __init__(
        self,
        n_categories: int | None = 100,
        min_docs: int = 5,
        weights: str = "documents",
        normalise: bool = True,
        n_prototypes: int | float | None = None,
        covariance: str = "se",
        length_scales: str = "shared",
        evidence: str = "none",
        selector: str = "prototypes",
        start: str = "random",
        snap: bool = True,
        search: str = "lbfgs",
        length_scale: float | None = None,
        amplitude: float | None = None,
        search_iter: int = 15,
        search_rows: int | None = 1000,
        probability: str = "mean",
        tol: float = 0.03,
        max_iter: int = 50,
        epochs: int = 10,
        rate: float = 0.3,
        width: float = 0.5,
        window: float = 0.01,
        jitter: float = 1e-6,
        max_prototypes: int = 1000,
        mode: str = "auto",
        memory: int = 2**32,
        n_shards: int = 8,
        random_state: int = 0,
    ) -> None:
        self.n_categories = n_categories
        self.min_docs = min_docs
        self.weights = weights
        self.normalise = normalise
        self.n_prototypes = n_prototypes
        self.covariance = covariance
        self.length_scales = length_scales
        self.evidence = evidence
        self.selector = selector
        self.start = start
        self.snap = snap
        self.search = search
        self.length_scale = length_scale
        self.amplitude = amplitude
        self.search_iter = search_iter
        self.search_rows = search_rows
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.epochs = epochs
        self.rate = rate
        self.width = width
        self.window = window
        self.jitter = jitter
        self.max_prototypes = max_prototypes
        self.mode = mode
        self.memory = memory
        self.n_shards = n_shards
        self.random_state = random_state

    def _fit_categories(self, rows: Rows, categories: np.ndarray, context: FitContext) -> None:
        data = LabelledDocuments(rows, categories, bool(self.normalise))
        with one_blas_thread():
            keep_learnt(self, learn(self, data, int(categories.max()) + 1, self._seed(), context))

    def _category_proba(self, X: sp.csr_matrix) -> np.ndarray:
        posterior = posterior_of(self, X.shape[1])
        method = self.probability if self.curvature_ != "none" else "mean"
        draws = Draws(self._seed(), row_keys(X)) if method == "sample" else None
        return posterior.probabilities(normalise_rows(X, bool(self.normalise)), method, draws)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _check_params(self) -> None:
        super()._check_params()
        check_together(self)

    def _check_state(self) -> None:
        super()._check_state()
        check_learnt(self, self.category_tags_.size, self.n_features_in_)
