"""TagiCoFi as an estimator: factors of users and items, the users' drawn towards those who tag alike."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from tagcore.base import restore_on_failure
from tagcore.graph.profiles import item_tag_counts, no_tags, rated_tag_counts, user_tag_counts
from tagcore.graph.similarity import LAPLACIANS, MEASURES, POSITIVE_MAPS, SCOPES, Likeness
from tagcore.models.tagicofi.descent import SCHEDULES
from tagcore.models.tagicofi.growing import grow
from tagcore.models.tagicofi.learning import learn
from tagcore.models.tagicofi.recommending import FoldingIn
from tagcore.models.tagicofi.targets import BIASES, FEEDBACKS, Targets, count_targets, rating_targets
from tagcore.parameters import FLAG, POSITIVE, ROUNDS, SEED, Choice, Real, Whole, limits
from tagcore.ratings import Ratings, UserTaggings
from tagcore.scikit import check_random_state
from tagcore.training import FitContext


class TagiCoFi(FoldingIn):
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

    _rounds = ("max_iter",)
    _limits = limits(
        n_factors=Whole(1, 10_000),
        alpha=Real(least=1e-9),  # without any, factors that no rating holds grow without bound
        item_alpha=Real(least=1e-9, none=True),
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
        learn(self, ratings, taggings, context)

    def _user_tags(self, taggings: UserTaggings | None, rated: sp.csr_matrix) -> sp.csr_matrix:
        if not self.beta:
            return no_tags(taggings, rated.shape[0])
        own = self.profiles == "own"
        return user_tag_counts(taggings, rated.shape[0]) if own else rated_tag_counts(taggings, rated)

    def _item_tags(self, taggings: UserTaggings | None, rated: sp.csr_matrix) -> sp.csr_matrix:
        return item_tag_counts(taggings, rated.shape[1]) if self.gamma else no_tags(taggings, rated.shape[1])

    def _targets(self, rated: sp.csr_matrix, mean: float | None = None) -> Targets:
        if self.feedback == "counts":
            return count_targets(rated, self.confidence)
        return rating_targets(rated, self.biases, self.damping, mean)

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

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))
