"""SGPS: sparse multi-class Gaussian process classification with prototype selection (CIKM 2008)."""

from typing import Any

import numpy as np

from tagcore.base import require_array
from tagcore.class_model import ClassModel
from tagcore.models.sgps.checks import (
    ARRAYS,
    FACTS,
    LIMITS,
    check_learnt,
    check_together,
    keep_learnt,
    posterior_of,
    prototypes_of,
    require_scale_per_column,
)
from tagcore.models.sgps.learning import learn
from tagcore.models.sgps.posterior import METHODS, Draws, Posterior
from tagcore.models.sgps.rows import LabelledMatrix
from tagcore.models.sgps.scaling import SCALINGS, Scaling, fit_scaling
from tagcore.numeric.dots import Matrix
from tagcore.parameters import Choice, Whole, check_limits
from tagcore.scikit import check_is_fitted, check_random_state
from tagcore.shards import one_blas_thread
from tagcore.training import FitContext


class SGPS(ClassModel):
    """A Gaussian process classifier on a few prototypes: it learns from few rows and says how sure it is.

    Every class has a latent function with a Gaussian process prior; the softmax of the latents is the probability of a
    class. The latents are known at M prototypes and follow from them everywhere else, so that N rows cost O(N M²), not
    O(N³). The posterior is Laplace's, its mode found by L-BFGS and, where that is not exact enough, by Newton's method;
    length scales and amplitudes maximise the evidence. With M = N and prototypes that are the rows it is the full
    Laplace approximation.

    Take it for up to some hundred thousand rows, dense or CSR, where probabilities and their uncertainty matter.
    Memory: 12 N M bytes, 4 with `mode="float32"`, a few megabytes a thread with "stream", at many times the time; 8 C
    M² bytes for the curvature that variances need.

    Parameters
    ----------
    n_prototypes : M, a whole number or a share of the rows; None is 5 % of them, at least 20. Never more than rows or
        `max_prototypes`, but one for every class in any case.
    covariance : "se", squared exponential, or "nn", that of a neural network.
    length_scales : "shared", one for all; "per_class", one length scale but an amplitude for every class; "ard", one
        for every column.
    evidence : "block" keeps a block of the curvature for every class, "exact" all of it (C · M up to 4000), "none"
        neither evidence nor variances.
    selector : "prototypes" moves prototypes to where classes meet, "kmeans" puts them at centres of each class,
        "random" and "infogain" (informative vector machine) take rows.
    start : "random" or "kmeans": where prototypes begin to move.
    snap : whether prototypes end at rows: then those of CSR rows stay sparse, as many columns want.
    search : "lbfgs" or "grid" (21 × 21) maximises the evidence, "none" takes the parameters as they are.
    length_scale, amplitude : where the search begins; None is half of the median distance of prototypes, and 3.
    search_iter, search_rows : most iterations of L-BFGS, four times as many for "ard"; rows that the search sees at
        most, None for 4000: fewer would find too little amplitude.
    probability : how `predict_proba` turns latents into probabilities: "mean" ignores their variance, and its likeliest
        class is that of `predict`; "mackay" shrinks each mean by its variance and "sample" averages over draws, which
        are less sure where little is known, and may so prefer another class, which errs more often.
    scaling : "standard" brings columns to unit variance (and dense ones to mean zero), "unit" rows to unit length, as
        words want; "none" leaves them.
    tol, max_iter : latents are as near to the mode as `tol` standard deviations of the posterior (root mean square over
        latents), or took so many rounds: ten steps of L-BFGS each or, below a `tol` of 0.01, a step of Newton's method.
    epochs, rate, width, window : prototypes move for so many epochs, with this first step; a prototype reaches as far
        as `width` times the spacing of prototypes; rows surely right or wrong, ls(1 - ls) < window, do not pull.
    jitter : added to the variance of prototypes; ten times as much, up to 0.01, where these coincide.
    max_prototypes : M at most, unless classes are more.
    mode : "store" keeps the features of all rows (12 bytes each), "float32" rounds them (4), "stream" makes them anew
        in every pass, "auto" takes the first of these that fits into half of `memory` bytes.
    n_shards : parts of the rows (of 1536 at least), worked on in parallel. Results never depend on threads. On this
        number they depend in the last digits where prototypes do not move; those that do follow mini-batches drawn part
        by part, so that with another number they end elsewhere, and stop at another epoch.
    random_state : seed.

    Attributes
    ----------
    prototypes_ : (M, D) in scaled inputs, dense or CSR as the rows were.
    log_evidence_ : log evidence of the rows, of the kind that `evidence` names; None without.
    length_scale_, amplitudes_ : (1,) or (D,), and one for every class.
    degenerate_, at_bound_, converged_ : whether the search found nothing better than explaining nothing, or ended at a
        bound; whether the mode was found.

    Examples
    --------
    >>> X = [[0.0], [0.2], [1.0], [1.2]] * 10
    >>> model = SGPS(n_prototypes=4, random_state=0).fit(X, ["low", "low", "high", "high"] * 10)
    >>> model.predict([[0.1], [1.1]]).tolist()
    ['low', 'high']
    """

    _arrays = (*ARRAYS, "centre_", "spread_")
    _facts = (*FACTS, "log_evidence_", "scaling_")
    _rounds = ("max_iter", "epochs", "search_iter")
    _limits = LIMITS

    prototype_values_: np.ndarray  # the prototypes as CSR rows
    prototype_columns_: np.ndarray
    prototype_starts_: np.ndarray
    prototype_classes_: np.ndarray
    length_scale_: np.ndarray
    amplitudes_: np.ndarray
    factor_: np.ndarray  # (M, M): lower Cholesky factor of their covariance
    weights_: np.ndarray  # (M, C): a latent mean is k(x, Z) @ weights_
    curvature_factors_: np.ndarray  # of H: (C, M, M), (1, C M, C M) or nothing
    curvature_: str
    sparse_: bool
    jitter_: float
    log_evidence_: float | None
    n_iter_: int
    converged_: bool
    degenerate_: bool
    at_bound_: bool
    centre_: np.ndarray  # subtracted from every column
    spread_: np.ndarray  # by which every column is divided
    scaling_: str

    def __init__(
        self,
        n_prototypes: int | float | None = None,
        covariance: str = "se",
        length_scales: str = "shared",
        evidence: str = "block",
        selector: str = "prototypes",
        start: str = "random",
        snap: bool = False,
        search: str = "lbfgs",
        length_scale: Any = None,
        amplitude: float | None = None,
        search_iter: int = 15,
        search_rows: int | None = None,
        probability: str = "mean",
        scaling: str = "standard",
        tol: float = 0.03,
        max_iter: int = 50,
        epochs: int = 10,
        rate: float = 0.3,
        width: float = 0.5,
        window: float = 0.01,
        jitter: float = 1e-6,
        max_prototypes: int = 2000,
        mode: str = "auto",
        memory: int = 2**32,
        n_shards: int = 8,
        random_state: int = 0,
    ) -> None:
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
        self.scaling = scaling
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

    def _fit(self, X: Matrix, y: np.ndarray, context: FitContext) -> None:
        require_scale_per_column(self.length_scale, X.shape[1])
        with one_blas_thread():
            scaling = fit_scaling(X, self.scaling)
            data = LabelledMatrix(scaling.apply(X), y)
            keep_learnt(self, learn(self, data, int(y.max()) + 1, self._seed(), context))
        self.scaling_, self.centre_, self.spread_ = scaling.kind, scaling.centre, scaling.spread

    @property
    def prototypes_(self) -> Matrix:
        """The prototypes, (M, D), in scaled inputs."""
        check_is_fitted(self)
        return prototypes_of(self, self.n_features_in_)

    def predict_proba(
        self, X: Any, method: str | None = None, *, n_samples: int = 1000, first_row: int = 0
    ) -> np.ndarray:
        """Class probabilities (n, C) by "mean", "mackay" or "sample"; draws are keyed by `first_row` + row."""
        rows = self._scaled(X)
        if method is None:
            method = self.probability if self.curvature_ != "none" else "mean"
        Choice(*METHODS).check("method", method)
        Whole().check("n_samples", n_samples)
        Whole(0).check("first_row", first_row)
        draws = Draws(self._seed(), first_row + np.arange(rows.shape[0]), n_samples)
        return self._posterior().probabilities(rows, method, draws)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the highest latent mean, which is right more often than that of the highest probability:
        variances, by which probabilities are shrunk, differ from class to class."""
        best = np.argmax(self.predict_latent(X), axis=1)
        return self.classes_[best]

    def predict_latent(self, X: Any) -> np.ndarray:
        """Latent means (n, C), of which probabilities are the softmax."""
        rows = self._scaled(X)
        return self._posterior().means(rows)

    def predict_variance(self, X: Any) -> np.ndarray:
        """Latent variances (n, C): how unsure the process is of every class's latent value at a row."""
        rows = self._scaled(X)
        return self._posterior().variances(rows)

    def _scaled(self, X: Any) -> Matrix:
        check_is_fitted(self)
        return Scaling(self.scaling_, self.centre_, self.spread_).apply(self._rows(X, reset=False))

    def _posterior(self) -> Posterior:
        return posterior_of(self, self.n_features_in_)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _check_params(self) -> None:
        super()._check_params()
        check_together(self)

    def _check_state(self) -> None:
        super()._check_state()
        check_limits({"scaling_": Choice(*SCALINGS)}, self)
        D, tiny = self.n_features_in_, float(np.finfo(np.float64).tiny)
        check_learnt(self, len(self.class_labels_), D)
        require_array(self.centre_, (D,), np.float64, "centre_")
        require_array(self.spread_, (D,), np.float64, "spread_", tiny)
