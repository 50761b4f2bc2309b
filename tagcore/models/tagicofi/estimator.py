"""TagiCoFi as an estimator: factors of users and items, the users' drawn towards those who tag alike."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array, require_lists, restore_on_failure
from tagcore.graph.profiles import TagProfiles, item_tag_counts, rated_tag_counts, user_tag_counts
from tagcore.graph.similarity import (
    LAPLACIANS,
    MEASURES,
    POSITIVE_MAPS,
    SCOPES,
    Likeness,
    TagGraph,
    no_graph,
    tag_graph,
)
from tagcore.models.tagicofi.alternation import Alternation
from tagcore.models.tagicofi.descent import SCHEDULES, Descent
from tagcore.models.tagicofi.growing import grow
from tagcore.models.tagicofi.serving import FoldingIn
from tagcore.models.tagicofi.sides import WORK, Side
from tagcore.models.tagicofi.targets import BIASES, FEEDBACKS, Targets, count_targets, rating_targets
from tagcore.parameters import FLAG, POSITIVE, ROUNDS, SEED, Choice, Real, Whole, limits
from tagcore.rating_model import RatingModel
from tagcore.ratings import Ratings, UserTaggings
from tagcore.scikit import check_random_state
from tagcore.shards import Arrays
from tagcore.training import FitContext, Learner, train

SCALE_END = Real(none=True)
_WIDE = 20  # factors, beyond which uniform ones would start far off the scale of the ratings
_NORMAL_SPREAD = 0.1
_COLD_SWEEPS = 50


class TagiCoFi(FoldingIn, RatingModel):
    """Matrix factorisation in which users who tag alike have alike factors (RecSys 2009).

    It minimises ½ Σ (r - U_i · V_j)² + ½ α (|U|² + |V|²) + ½ β tr(U L Uᵀ) + ½ γ tr(V Lᴵ Vᵀ), L the Laplacian of the
    graph of users who use the same tags and Lᴵ that of items that have them. β = γ = 0 is probabilistic matrix
    factorisation (`PMF`). By default it works on what damped biases leave of the ratings and solves exactly;
    `TagiCoFi.published()` is the paper. A user without ratings has the factors of the neighbours; one without
    neighbours either gets the mean of the item, and an item that nobody rated the mean of the user. `predict` clips to
    the scale of the ratings where that is known; recommendations are ranked by what was not clipped.

    Parameters
    ----------
    n_factors : dimensions of factors.
    alpha, item_alpha : weights of the squares of users' and items' factors; None takes alpha for both.
    beta, gamma : weights of the graphs of users and of items.
    profiles : tags of a user are the "own", which he gave, or those of what he has "rated", whoever gave them, and what
        items have by themselves, such as genres: for ratings whose users hardly tag.
    similarity, scope, positive, sigma : what makes two profiles of tags alike, see `tagcore.graph.similarity.Likeness`.
    n_neighbors : most alike that each chooses, None for all; min_common : tags that linked ones share at least;
        threshold : links are stronger; max_df : a tag that more have proposes no link, None for no limit.
    laplacian : "sym" divides a link by the roots of both degrees, "maxdeg" and "meandeg" all links by one number.
    biases : what is taken off ratings first: "none" as published, "global" their mean, "item" and "both" damped
        biases too; damping : ratings without a bias that count on top.
    feedback : "ratings" are values to reach where there are some. "counts" tell how often: all that has none counts as
        a preference of 0, what has some as 1 with a confidence of 1 + `confidence` · ln(1 + count); by "als" only.
    solver : "als" solves exactly, users by conjugate gradients (cg_steps at most, until the residual fell to cg_tol);
        "gd" is the published descent, by a fixed `step` or (None) the longest safe one of each user and item, dimension
        after dimension ("gauss-seidel") or all at once ("jacobi").
    max_iter, tol : rounds, and the relative fall of the objective at which they end.
    init : "uniform" in 0..1 as published, "scaled" so that products begin at the mean rating, "normal" around 0; None
        chooses by `biases` and `n_factors`.
    n_shards : None takes one to half a million ratings and links.
    warm_start : goes on from the factors there are, where users and items are as many as before.

    Examples
    --------
    >>> ratings = Ratings.from_values(["ann", "ann", "bob", "cid"], ["tea", "jam", "tea", "jam"], [5, 2, 4, 1])
    >>> taggings = UserTaggings.from_values(ratings, ["ann", "bob"], ["tea", "tea"], ["hot", "hot"])
    >>> model = TagiCoFi(n_factors=2, random_state=0).fit(ratings, taggings)
    >>> model.recommend(1)[0], model.recommend_for_tags([0], 1)[0]
    (array([1]), array([0]))
    """

    _arrays = (
        "user_factors_",
        "item_factors_",
        "user_biases_",
        "item_biases_",
        "user_fallbacks_",
        "item_fallbacks_",
        "rated_values_",
        "tag_starts_",
        "tag_ids_",
        "tag_counts_",
        "idf_",
        "degrees_",
        "item_tag_starts_",
        "item_tag_ids_",
        "item_tag_counts_",
        "item_idf_",
        "item_degrees_",
    )
    _facts = (
        "mean_",
        "fallback_",
        "lowest_",
        "highest_",
        "n_tags_",
        "factor_",
        "sigma_",
        "item_factor_",
        "item_sigma_",
    )
    _rounds = ("max_iter",)
    _limits = limits(
        n_factors=Whole(1, 10_000),
        alpha=Real(least=0),
        item_alpha=Real(least=0, none=True),
        beta=Real(least=0),
        gamma=Real(least=0),
        profiles=Choice("own", "rated"),
        similarity=Choice(*MEASURES),
        scope=Choice(*SCOPES),
        positive=Choice(*POSITIVE_MAPS),
        sigma=Real(above=0, none=True),
        n_neighbors=Whole(none=True),
        min_common=Whole(),
        threshold=Real(least=0),
        max_df=Whole(none=True),
        laplacian=Choice(*LAPLACIANS),
        biases=Choice(*BIASES),
        damping=Real(least=0),
        feedback=Choice(*FEEDBACKS),
        confidence=POSITIVE,
        solver=Choice("als", "gd"),
        schedule=Choice(*SCHEDULES),
        step=Real(above=0, none=True),
        cg_steps=Whole(),
        cg_tol=Real(above=0, most=1),
        max_iter=ROUNDS,
        tol=Real(least=0),
        init=Choice(None, "uniform", "scaled", "normal"),
        n_shards=Whole(none=True),
        warm_start=FLAG,
        random_state=SEED,
    )

    user_factors_: np.ndarray  # U, users × factors
    item_factors_: np.ndarray  # V
    user_biases_: np.ndarray
    item_biases_: np.ndarray
    user_fallbacks_: np.ndarray  # what a user is expected to give to an item that nobody rated
    item_fallbacks_: np.ndarray  # what an item is expected to get from someone of whom nothing is known
    rated_values_: np.ndarray  # beside rated_items_
    tag_starts_: np.ndarray  # counts of tags of every user, CSR
    tag_ids_: np.ndarray
    tag_counts_: np.ndarray
    idf_: np.ndarray
    degrees_: np.ndarray  # sums of links of users, before they were scaled
    item_tag_starts_: np.ndarray  # the same of items; empty where γ is 0
    item_tag_ids_: np.ndarray
    item_tag_counts_: np.ndarray
    item_idf_: np.ndarray
    item_degrees_: np.ndarray
    mean_: float
    fallback_: float  # what is answered where neither user nor item is known
    lowest_: float | None  # of the ratings' scale, where that is known
    highest_: float | None
    n_tags_: int
    factor_: float  # that all links were multiplied by
    sigma_: float
    item_factor_: float
    item_sigma_: float

    def __init__(
        self,
        n_factors: int = 10,
        alpha: float = 2.0,
        item_alpha: float | None = None,
        beta: float = 20.0,
        gamma: float = 0.0,
        profiles: str = "own",
        similarity: str = "cosine",
        scope: str = "own",
        positive: str = "sigmoid",
        sigma: float | None = None,
        n_neighbors: int | None = 50,
        min_common: int = 1,
        threshold: float = 0.0,
        max_df: int | None = None,
        laplacian: str = "sym",
        biases: str = "both",
        damping: float = 5.0,
        feedback: str = "ratings",
        confidence: float = 10.0,
        solver: str = "als",
        schedule: str = "gauss-seidel",
        step: float | None = None,
        cg_steps: int = 30,
        cg_tol: float = 1e-2,
        max_iter: int = 20,
        tol: float = 1e-4,
        init: str | None = None,
        n_shards: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_factors = n_factors
        self.alpha = alpha
        self.item_alpha = item_alpha
        self.beta = beta
        self.gamma = gamma
        self.profiles = profiles
        self.similarity = similarity
        self.scope = scope
        self.positive = positive
        self.sigma = sigma
        self.n_neighbors = n_neighbors
        self.min_common = min_common
        self.threshold = threshold
        self.max_df = max_df
        self.laplacian = laplacian
        self.biases = biases
        self.damping = damping
        self.feedback = feedback
        self.confidence = confidence
        self.solver = solver
        self.schedule = schedule
        self.step = step
        self.cg_steps = cg_steps
        self.cg_tol = cg_tol
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_shards = n_shards
        self.warm_start = warm_start
        self.random_state = random_state

    @classmethod
    def published(cls, **changes: Any) -> Self:
        """The paper: raw ratings, all links of Pearson's similarity, 1000 rounds of gradient descent of step 0.001.

        Links are scaled ("sym"): as the paper's text has them, β = 50 diverges at its step.
        """
        paper: dict[str, Any] = {
            "n_factors": 10,
            "alpha": 1.0,
            "beta": 50.0,
            "similarity": "pearson",
            "scope": "common",
        }
        paper |= {"n_neighbors": None, "biases": "none", "solver": "gd", "step": 0.001, "max_iter": 1000, "tol": 0.0}
        return cls(**paper | changes)

    def _check_params(self) -> None:
        super()._check_params()
        if self.feedback == "counts" and self.solver != "als":
            raise ValueError(f'feedback="counts" needs solver="als", got solver={self.solver!r}')

    def partial_fit(self, ratings: Ratings, taggings: UserTaggings | None = None) -> Self:
        """Learns new ratings, users, items and tags, whose ids follow those that are known; fits where nothing is.

        Only users and items that the batch names move, each to the minimum of the objective given all others; a pair
        that was rated before takes its new value. What tags weigh and the mean of all ratings stay until the next fit.
        """
        if not hasattr(self, "user_factors_"):
            return self.fit(ratings, taggings)
        self._check_params()
        with restore_on_failure(self):
            grow(self, ratings, taggings)
            self._check_sizes()
        return self

    def _fit(self, ratings: Ratings, taggings: UserTaggings | None, context: FitContext) -> None:
        rated = ratings.matrix
        targets = self._targets(rated)
        profiles = TagProfiles.of(self._user_tags(taggings, rated))
        item_profiles = TagProfiles.of(self._item_tags(taggings, rated))
        graph = self._graph(profiles, context) if self.beta else no_graph(rated.shape[0])
        item_graph = self._graph(item_profiles, context) if self.gamma else no_graph(rated.shape[1])
        users, items = self._sides(rated, targets, graph, item_graph)
        trained = train(
            self._learner(users, items, targets, self._start(rated), context),
            users.shards(self.n_shards, context.executor),
            max_rounds=self.max_iter,
            progress=context.progress,
            checkpoints=context.checkpoints,
        )
        U, V = trained.arrays["users"], trained.arrays["items"]
        if self.solver == "gd":
            U, V = settled(users, U), settled(items, V)
        self._keep_targets(rated, targets)
        self._keep_tags(profiles, graph, item_profiles, item_graph)
        self.user_factors_, self.item_factors_ = U, V
        self.lowest_, self.highest_ = (None, None) if self.feedback == "counts" else ratings.scale or (None, None)

    def _user_tags(self, taggings: UserTaggings | None, rated: sp.csr_matrix) -> sp.csr_matrix:
        counts = (
            user_tag_counts(taggings, rated.shape[0]) if self.profiles == "own" else rated_tag_counts(taggings, rated)
        )
        return counts if self.beta else sp.csr_matrix(counts.shape)

    def _item_tags(self, taggings: UserTaggings | None, rated: sp.csr_matrix) -> sp.csr_matrix:
        counts = item_tag_counts(taggings, rated.shape[1])
        return counts if self.gamma else sp.csr_matrix(counts.shape)

    def _targets(self, rated: sp.csr_matrix, mean: float | None = None) -> Targets:
        if self.feedback == "counts":
            return count_targets(rated, self.confidence)
        return rating_targets(rated, self.biases, self.damping, mean)

    def _graph(self, profiles: TagProfiles, context: FitContext) -> TagGraph:
        n_shards = self.n_shards or 1 + profiles.counts.nnz // WORK
        return tag_graph(profiles, self._likeness, context.executor, n_shards)

    @property
    def _likeness(self) -> Likeness:
        return Likeness(
            self.similarity,
            self.scope,
            self.positive,
            self.sigma,
            self.n_neighbors,
            self.min_common,
            self.threshold,
            self.max_df,
            self.laplacian,
        )

    def _sides(
        self, rated: sp.csr_matrix, targets: Targets, graph: TagGraph, item_graph: TagGraph
    ) -> tuple[Side, Side]:
        values = with_values(rated, targets.values)
        by_item, weights = values.T.tocsr(), None
        if targets.weights is not None:
            weights = with_values(rated, targets.weights).T.tocsr().data
        item_alpha = self.alpha if self.item_alpha is None else self.item_alpha
        users = Side(values, targets.weights, graph, self.alpha, self.beta)
        return users, Side(by_item, weights, item_graph, item_alpha, self.gamma)

    def _start(self, rated: sp.csr_matrix) -> Arrays:
        """Factors to begin from: of all users, then of all items, whatever the shards are."""
        sizes = [(n, self.n_factors) for n in rated.shape]
        if self.warm_start and hasattr(self, "user_factors_"):
            known = self.user_factors_, self.item_factors_
            if [factors.shape for factors in known] == sizes:
                return {"users": known[0], "items": known[1]}
        raw = self.biases == "none" and self.feedback == "ratings"
        init = self.init or ("normal" if not raw else "uniform" if self.n_factors <= _WIDE else "scaled")
        random = np.random.default_rng(np.random.SeedSequence(self._seed()))
        if init == "normal":
            U, V = (random.normal(0.0, _NORMAL_SPREAD, size) for size in sizes)
        else:
            most = 2.0 * np.sqrt(max(float(rated.data.mean()), 0.0) / self.n_factors) if init == "scaled" else 1.0
            U, V = (most * random.random(size) for size in sizes)
        return {"users": U, "items": V}

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _learner(self, users: Side, items: Side, targets: Targets, start: Arrays, context: FitContext) -> Learner:
        if self.solver == "gd":
            return Descent(users, items, start, step=self.step, schedule=self.schedule, tol=self.tol)
        return Alternation(
            users,
            items,
            items.shards(self.n_shards, context.executor),
            start,
            constant=targets.constant,
            dense=targets.weights is not None,
            cg_steps=self.cg_steps,
            cg_tol=self.cg_tol,
            tol=self.tol,
        )

    def _keep_targets(self, rated: sp.csr_matrix, targets: Targets) -> None:
        offsets = targets.offsets
        self.mean_ = offsets.mean
        self.user_biases_, self.item_biases_ = offsets.user_biases, offsets.item_biases
        self.user_fallbacks_, self.item_fallbacks_ = offsets.user_fallbacks, offsets.item_fallbacks
        self.fallback_ = offsets.fallback
        self.rated_values_ = rated.data

    def _keep_tags(
        self, profiles: TagProfiles, graph: TagGraph, item_profiles: TagProfiles, item_graph: TagGraph
    ) -> None:
        self.n_tags_ = profiles.counts.shape[1]
        self.tag_starts_, self.tag_ids_, self.tag_counts_ = profiles.starts, profiles.tags, profiles.counts.data
        self.idf_, self.degrees_ = profiles.idf, graph.raw_degrees
        self.factor_, self.sigma_ = graph.factor, graph.sigma
        self.item_tag_starts_, self.item_tag_ids_ = item_profiles.starts, item_profiles.tags
        self.item_tag_counts_ = item_profiles.counts.data
        self.item_idf_, self.item_degrees_ = item_profiles.idf, item_graph.raw_degrees
        self.item_factor_, self.item_sigma_ = item_graph.factor, item_graph.sigma

    def _check_state(self) -> None:
        super()._check_state()
        n, m = self.n_users_, self.n_items_
        Whole(0).check("n_tags_", self.n_tags_)
        for name, limit in (("mean_", Real()), ("fallback_", Real()), ("lowest_", SCALE_END), ("highest_", SCALE_END)):
            limit.check(name, getattr(self, name))
        for name in ("factor_", "sigma_", "item_factor_", "item_sigma_"):
            POSITIVE.check(name, getattr(self, name))
        for side, size in (("user", n), ("item", m)):
            require_array(getattr(self, f"{side}_factors_"), (size, self.n_factors), np.float64, f"{side}_factors_")
            for name in (f"{side}_biases_", f"{side}_fallbacks_"):
                require_array(getattr(self, name), (size,), np.float64, name)
        require_array(self.rated_values_, self.rated_items_.shape, np.float64, "rated_values_")
        for prefix, size in (("", n), ("item_", m)):
            starts, ids, counts, idf, degrees = (
                getattr(self, f"{prefix}{name}_") for name in ("tag_starts", "tag_ids", "tag_counts", "idf", "degrees")
            )
            require_lists(starts, ids, size, self.n_tags_, f"{prefix}tags")
            require_array(counts, ids.shape, np.float64, f"{prefix}tag_counts_", least=1.0)
            require_array(idf, (self.n_tags_,), np.float64, f"{prefix}idf_", least=0.0)
            require_array(degrees, (size,), np.float64, f"{prefix}degrees_", least=0.0)


def settled(side: Side, rows: np.ndarray) -> np.ndarray:
    """Gives rows without ratings the place that their neighbours give them, which descent may not have reached, and 0
    to those without neighbours."""
    cold = np.flatnonzero(np.diff(side.values.indptr) == 0)
    rows = rows.copy()
    rows[cold] = rows[cold] if side.is_linked else 0.0
    if not (cold.size and side.is_linked):
        return rows
    links, pull = side.graph.links[cold], side.pull
    weight = side.ridge + pull * side.graph.degrees[cold]
    share = np.divide(pull, weight, out=np.zeros(cold.size), where=weight > 0)[:, None]
    for _ in range(_COLD_SWEEPS):
        rows[cold] = share * (links @ rows)
    return rows


def with_values(rated: sp.csr_matrix, values: np.ndarray) -> sp.csr_matrix:
    """The same cells with other values, of which 0 is one too."""
    return sp.csr_matrix((values, rated.indices, rated.indptr), shape=rated.shape, copy=False)
