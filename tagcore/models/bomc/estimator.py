"""BOMC: Bayesian online multi-label classification (AISTATS 2010)."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from tagcore.base import restore_on_failure
from tagcore.features.rows import InMemory, Rows
from tagcore.labelling.expected_f import ExpectedF, expected_f
from tagcore.labelling.labels import top_k_labels
from tagcore.labelling.posterior import Posterior
from tagcore.models.bomc import apart
from tagcore.models.bomc.checks import LIMITS, check_parameters, check_state
from tagcore.models.bomc.drift import bias_variance_now, variance_now
from tagcore.models.bomc.hierarchy import Siblings
from tagcore.models.bomc.kernel import standard_scores
from tagcore.models.bomc.learning import learn
from tagcore.models.bomc.warn import warn_of_flips, warn_of_rows_learnt_before
from tagcore.numeric.normalise import normalise_rows
from tagcore.numeric.read_only import freeze
from tagcore.scikit import check_random_state
from tagcore.scoring.blocks import ScorePart, unknown_truth
from tagcore.scoring.explanation import Explanation
from tagcore.scoring.sharded import ShardedScores
from tagcore.tag_model import TagModel
from tagcore.training import FitContext

_CLASS_DRAWS = 500  # by which the most likely class of many is found


class BOMC(TagModel):
    """Learns every document once and keeps a Gaussian over every weight.

    A tag's score must clear a bias by a margin, wider for rare tags; each document moves means and variances by one
    step of Gaussian density filtering. In the paper all tags share the bias (the hub), and expectation propagation goes
    through it: `BOMC.published()` is that model; the defaults rank better on most of the sets that we measure. One
    pass is a whole training, so new documents are simply learnt on top: `partial_fit` over batches in order equals one
    `fit` over all, bit for bit (with `shuffle=False` and `skew` given or "running"). The uncertainty of each weight is
    in `variance_`, and `expected_f` uses it to label a set of documents so that the expected F is greatest.

    A document costs its words times the tags. State is two dense matrices, words × tags, so it suits up to a few
    thousand tags. Scores are standard: `predict_proba` is the normal distribution function of them.

    Parameters
    ----------
    variant : "independent" (a bias for each tag, closed form, spread over the executor), "coupled" (one for all tags),
        or "multi-class" (every document has exactly one tag).
    prior_var : variance of a weight before any document; 1 suits rows of unit length.
    bias_var : the same of the bias; None is 1e4 for the hub and 1 for independent biases.
    noise : standard deviation of the noise on a score; the paper's 0.01 trusts every document fully.
    margin : how far a tag must be from the bias.
    skew : where the wider margin ln(e + 1/r) of rare tags has its ratio r of positives to negatives from: "counted"
        (all documents of the call first), "running" (those seen so far), a list of ratios, or None for no such margin.
    flip : the probability that a label was recorded wrongly; a pair gives it for absent and for present tags. A model
        that allows for flips is moved less by a single wrong label. On present tags it takes most occurrences of rare
        tags for mistakes, and warns: choose it on validation documents, for absent tags only, such as [0.001, 0].
    drift, bias_drift : variance that a weight regains for every document since its word was last seen, and a bias for
        every document, so that old knowledge fades, in prediction too; 0 never forgets.
    parents : a hierarchy: for each tag the number of its parent, -1 at the top. A tag is then learnt only from
        documents that have its parent, and its probability is that of the whole path.
    tol, max_sweeps, damping : when expectation propagation has settled, and how it is held back.
    noise_in_predict : whether the noise counts in prediction, too.
    n_samples, n_thresholds, threshold_grid : of `expected_f`.
    normalise : bring rows to unit length first.
    shuffle : `fit` learns in an order drawn from random_state, or in the order given.
    dtype : of the weights; "float32" gives the same labels and is faster.
    warm_start : `fit` goes on from what is known, with new words and tags appended, instead of starting over. It is
        for new rows only: rows learnt twice count twice. A fit that begins with all the known rows warns.
    parallel : None learns the coupled variant in one stream. "classes" spreads its classes over `n_shards` (None: of 64
        classes or fewer) and brings the hub together after `warm_up` rows and then every `merge_every` (None: 2000,
        later a quarter of the rows so far): the same scores but for a correlation of about 0.999. Independent classes
        are always spread, exactly.
    max_weights : refuse to make larger matrices.
    random_state : seed of the order and of the samples.

    Examples
    --------
    >>> model = BOMC(skew="running")
    >>> for x, y in [([1.0, 0.0], [1, 0]), ([0.0, 1.0], [0, 1])]:
    ...     model = model.partial_fit([x], [y])
    >>> model.top_k([[2.0, 1.0]], 1)[0]
    array([[0]])
    """

    _arrays = ("mean_", "variance_", "bias_mean_", "bias_variance_", "positives_", "exposures_", "last_seen_")
    _facts = ("n_seen_",)
    _limits = LIMITS

    mean_: np.ndarray  # (words, tags)
    variance_: np.ndarray
    bias_mean_: np.ndarray  # one per group of siblings, or one per tag
    bias_variance_: np.ndarray
    positives_: np.ndarray  # documents with each tag
    exposures_: np.ndarray  # documents that could have had it: all, or those with its parent
    last_seen_: np.ndarray  # with drift: the document that last had each word
    n_seen_: int

    def __init__(
        self,
        variant: str = "independent",
        prior_var: float = 1.0,
        bias_var: float | None = None,
        noise: float = 1.0,
        margin: float = 1.0,
        skew: str | Sequence[float] | None = "counted",
        flip: float | Sequence[float] = 0.0,
        drift: float = 0.0,
        bias_drift: float = 0.0,
        parents: Sequence[int] | None = None,
        tol: float = 1e-3,
        max_sweeps: int = 20,
        damping: float = 0.0,
        noise_in_predict: bool = False,
        n_samples: int = 5,
        n_thresholds: int = 20,
        threshold_grid: str = "uniform",
        normalise: bool = True,
        shuffle: bool = True,
        dtype: str = "float32",
        warm_start: bool = False,
        parallel: str | None = None,
        n_shards: int | None = None,
        merge_every: int | None = None,
        warm_up: int = 1000,
        max_weights: int = 2**30,
        random_state: int = 0,
    ) -> None:
        self.variant = variant
        self.prior_var = prior_var
        self.bias_var = bias_var
        self.noise = noise
        self.margin = margin
        self.skew = skew
        self.flip = flip
        self.drift = drift
        self.bias_drift = bias_drift
        self.parents = parents
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.damping = damping
        self.noise_in_predict = noise_in_predict
        self.n_samples = n_samples
        self.n_thresholds = n_thresholds
        self.threshold_grid = threshold_grid
        self.normalise = normalise
        self.shuffle = shuffle
        self.dtype = dtype
        self.warm_start = warm_start
        self.parallel = parallel
        self.n_shards = n_shards
        self.merge_every = merge_every
        self.warm_up = warm_up
        self.max_weights = max_weights
        self.random_state = random_state

    @classmethod
    def published(cls, variant: str = "coupled", noise: float = 0.01, **params: Any) -> Self:
        """Makes the model of the paper: one bias that all tags share, and next to no noise."""
        return cls(variant=variant, noise=noise, **params)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learns these documents in their order, on top of what is known; the first call fixes words and tags."""
        with restore_on_failure(self):
            X, Y = self._checked_batch(X, y)
            if not hasattr(self, "mean_"):
                check_parameters(self, Y.shape[1])
                self._start_from_prior(X.shape[1], Y.shape[1])
            warn_of_flips(self)
            learn(self, InMemory(X, Y), None)
        return self

    def grow(self, words: int, tags: int) -> Self:
        """Makes room for words and tags that were appended since: they start from the prior."""
        new_words, new_tags = self._new_words_and_tags(words, tags)
        check_parameters(self, tags)
        self._require_room(words, tags)
        around, biases = ((0, new_words), (0, new_tags)), (0, self._n_biases(tags) - self.bias_mean_.size)
        self.mean_ = np.pad(self.mean_, around)
        self.variance_ = np.pad(self.variance_, around, constant_values=self.variance_.dtype.type(self.prior_var))
        self.bias_mean_ = np.pad(self.bias_mean_, biases)
        self.bias_variance_ = np.pad(self.bias_variance_, biases, constant_values=self._bias_var)
        self.positives_ = np.pad(self.positives_, (0, new_tags))
        above = Siblings(self.parents, tags).parents[tags - new_tags :]
        exposures = np.where(above < 0, self.n_seen_, self.positives_[above])
        self.exposures_ = np.concatenate([self.exposures_, exposures])
        if self.last_seen_.size:
            self.last_seen_ = np.pad(self.last_seen_, (0, new_words), constant_values=self.n_seen_)
        self.n_features_in_, self.n_labels_ = words, tags
        return self

    @property
    def learns_tags_apart(self) -> bool:
        """Whether a tag is learnt the same whichever others there are: then `relearn_tags` can."""
        return apart.learns_tags_apart(self)

    def relearn_tags(self, X: Any, y: Any, first: int) -> Self:
        """Learns the last tags, from number `first` on, from all documents so far, as if they had always been there."""
        apart.relearn_tags(self, X, y, first)
        return self

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Gives the normal distribution function of the scores."""
        from scipy.special import ndtr  # here: a blend does without, and starts the sooner

        return ndtr(scores)

    def predict(self, X: Any) -> sp.csr_matrix:
        """Gives the tags whose probability is above one half; the best class of a multi-class model."""
        if self.variant != "multi-class":
            return super().predict(X)
        return top_k_labels(self.top_k(X, 1)[0], self.n_labels_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Gives dense (n, L); of a multi-class model, the probability that each class is the largest, from samples."""
        if self.variant != "multi-class":
            return super().predict_proba(X)
        X = self._scaled(self._checked(X))
        variance = X.multiply(X) @ variance_now(self, slice(None))
        mean, sd = X @ self.mean_, np.sqrt(variance + float(self.noise) ** 2)
        rng = check_random_state(self.random_state)
        wins = np.zeros(mean.shape)
        for _ in range(_CLASS_DRAWS):
            best = (mean + sd * rng.standard_normal(mean.shape)).argmax(axis=1)
            wins[np.arange(best.size), best] += 1
        return wins / _CLASS_DRAWS

    def posterior(self) -> Posterior:
        """Gives the Gaussians over weights and biases, as the next document would find them."""
        if self.variant == "multi-class":
            raise ValueError("a multi-class model has no bias to label by: its label is the best class")
        siblings = Siblings(self.parents, self.n_labels_)
        return Posterior(
            mean=self.mean_,
            variance=variance_now(self, slice(None)),
            bias_mean=self.bias_mean_,
            bias_variance=bias_variance_now(self),
            bias_of=np.arange(self.n_labels_) if self.variant == "independent" else siblings.hub_of,
            parents=None if siblings.flat else siblings.parents,
        )

    def expected_f(self, rows: Any) -> ExpectedF:
        """Gives the F to expect of every threshold on these documents, from samples of the posterior.

        `rows` are word weights, or this model's `ShardedScores` on rows that may be anywhere.
        """
        if not isinstance(rows, ShardedScores):
            X = self._checked(rows)
            rows = ShardedScores(self, InMemory(X, unknown_truth(X.shape[0], self.n_labels_)))
        return expected_f(
            rows,
            _posterior_of,
            samples=self.n_samples,
            thresholds=self.n_thresholds,
            grid=self.threshold_grid,
            rates=self.positives_ / max(1, self.n_seen_),
            seed=self.random_state,
        )

    def explain(self, X: Any, tag: int) -> Explanation:
        """Tells how each word of one document pushes the tag, and how sure that is."""
        X = self._scaled(self._checked(X))
        if X.shape[0] != 1 or not 0 <= tag < self.n_labels_:
            raise ValueError(f"expected one row and a tag from 0 to {self.n_labels_ - 1}, got {X.shape[0]} rows, {tag}")
        push = X.data * self.mean_[X.indices, tag]
        spread = X.data * np.sqrt(variance_now(self, X.indices)[:, tag])
        bias = 0.0
        if self.variant != "multi-class":
            bias = -float(self.bias_mean_[self.posterior().bias_of[tag]])
        return Explanation(words=X.indices, push=push, spread=spread, bias=bias)

    @property
    def _flips(self) -> tuple[float, float]:
        if isinstance(self.flip, int | float):
            return float(self.flip), float(self.flip)
        absent, present = self.flip
        return float(absent), float(present)

    @property
    def _bias_var(self) -> float:
        if self.bias_var is not None:
            return float(self.bias_var)
        return 1.0 if self.variant == "independent" else 1e4

    def _n_biases(self, tags: int) -> int:
        """Counts biases: one per tag, none, or the hub at the top and one below each tag that may become a parent."""
        if self.variant == "coupled":
            return 1 if self.parents is None else 1 + tags
        return tags if self.variant == "independent" else 0

    def _fit(self, rows: Rows, context: FitContext) -> None:
        """Learns with a block of rows, or a worker's share, in memory at a time."""
        self._grow_or_start(rows.n_features, rows.n_labels)
        warn_of_flips(self)
        warn_of_rows_learnt_before(self, rows)
        learn(self, rows, self.random_state if self.shuffle else None, context)

    def _grow_or_start(self, words: int, tags: int) -> None:
        """Makes the arrays of the prior, or makes room in the fitted ones for words and tags that were appended."""
        check_parameters(self, tags)
        if self.warm_start and hasattr(self, "mean_"):
            self.grow(words, tags)  # pads, that is copies: the arrays of a failed fit are dropped
        else:
            self._start_from_prior(words, tags)

    def _start_from_prior(self, words: int, tags: int) -> None:
        self._require_room(words, tags)
        biases = self._n_biases(tags)
        self.mean_, self.variance_ = (  # one number each, until it is learnt: a copy of all would be copied again
            np.broadcast_to(np.asarray(number, self.dtype), (words, tags)) for number in (0.0, self.prior_var)
        )
        self.bias_mean_, self.bias_variance_ = np.zeros(biases), np.full(biases, self._bias_var)
        self.positives_, self.exposures_ = np.zeros(tags, np.int64), np.zeros(tags, np.int64)
        self.last_seen_ = np.zeros(words if self.drift else 0, np.int64)
        self.n_seen_, self.n_labels_ = 0, tags

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        rows = self._scaled(X)
        if rows.dtype != self.mean_.dtype:
            rows = rows.astype(self.mean_.dtype)
        if self.variant == "multi-class":
            return np.asarray(rows @ self.mean_, np.float64)
        siblings = None if self.parents is None else Siblings(self.parents, self.n_labels_)
        z = np.empty((X.shape[0], self.n_labels_))
        noise = float(self.noise) ** 2 if self.noise_in_predict else 0.0
        mean, variance, words = self.mean_, self.variance_, rows.indices
        if self.drift:  # which is added to the words of these rows only
            present, words = np.unique(words, return_inverse=True)
            mean, variance, words = mean[present], variance_now(self, present), words.astype(rows.indices.dtype)
        biases = self.bias_mean_, bias_variance_now(self)
        if self.variant != "independent":
            hubs = np.zeros(self.n_labels_, np.int64) if siblings is None else siblings.hub_of
            biases = biases[0][hubs], biases[1][hubs]
        posterior = freeze((mean, variance, *biases))
        standard_scores(rows.data, words, rows.indptr, posterior, noise, z)
        return z if siblings is None else siblings.path_scores(z)

    def _scaled(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return normalise_rows(X, self.normalise)

    def _require_room(self, words: int, tags: int) -> None:
        if words * tags > self.max_weights:
            size = 2 * np.dtype(self.dtype).itemsize * words * tags / 2**30
            raise ValueError(
                f"{words} words × {tags} tags need {words * tags} weights ({size:.1f} GiB), "
                f"more than max_weights={self.max_weights!r}: select words, or take a sparse model"
            )

    def _check_state(self) -> None:
        super()._check_state()
        check_state(self)


def _posterior_of(part: ScorePart) -> tuple[sp.csr_matrix, Posterior]:
    """Gives a part's rows, scaled as the model that scored it wants them, and that model's posterior."""
    model = part.scorer.model
    return model._scaled(model._checked(part.X)), model.posterior()
