"""What shows whether tags help: the same factorisation without them, and with the tags of someone else."""

from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.models.tagicofi.estimator import TagiCoFi
from tagcore.ratings import UserTaggings

_SHUFFLE = 0x5AFFE  # keeps the draw of owners apart from that of factors


class PMF(TagiCoFi):
    """Probabilistic matrix factorisation: TagiCoFi without tags (β = γ = 0), see there for its parameters.

    Examples
    --------
    >>> from tagcore import Ratings
    >>> ratings = Ratings.from_values(["ann", "ann", "bob", "cid"], ["tea", "jam", "tea", "jam"], [5, 2, 4, 1])
    >>> PMF(n_factors=2, random_state=0).fit(ratings).recommend(1)[0]
    array([1])
    """

    _limits = MappingProxyType(
        {
            name: limit
            for name, limit in TagiCoFi._limits.items()
            if name
            in (
                "n_factors", "alpha", "item_alpha", "biases", "damping", "feedback", "confidence", "solver", "schedule",
                "step", "max_iter", "tol", "init", "n_shards", "warm_start", "random_state",
            )
        }
    )  # fmt: skip
    beta = gamma = threshold = 0.0
    profiles, similarity, scope, positive, laplacian = "own", "cosine", "own", "sigmoid", "sym"
    sigma = n_neighbors = max_df = None
    min_common = cg_steps = 1
    cg_tol = 1.0

    def __init__(
        self,
        n_factors: int = 10,
        alpha: float = 2.0,
        item_alpha: float | None = None,
        biases: str = "both",
        damping: float = 5.0,
        feedback: str = "ratings",
        confidence: float = 10.0,
        solver: str = "als",
        schedule: str = "gauss-seidel",
        step: float | None = None,
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
        self.biases = biases
        self.damping = damping
        self.feedback = feedback
        self.confidence = confidence
        self.solver = solver
        self.schedule = schedule
        self.step = step
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_shards = n_shards
        self.warm_start = warm_start
        self.random_state = random_state

    @classmethod
    def published(cls, **changes: Any) -> "PMF":
        """As `TagiCoFi.published`, without tags."""
        paper: dict[str, Any] = {
            "alpha": 1.0,
            "biases": "none",
            "solver": "gd",
            "step": 0.001,
            "max_iter": 1000,
            "tol": 0.0,
        }
        return cls(**paper | changes)


class ShuffledTagiCoFi(TagiCoFi):
    """The control of TagiCoFi: users have the tags of one another, drawn by the seed.

    The graph keeps its shape and its strength and tells nothing any more: what this gains over `PMF` is shrinkage to
    the others, and only what TagiCoFi gains over this comes from tags.
    """

    def _user_tags(self, taggings: UserTaggings | None, rated: sp.csr_matrix) -> sp.csr_matrix:
        counts = super()._user_tags(taggings, rated)
        return counts[np.random.default_rng([_SHUFFLE, self._seed()]).permutation(counts.shape[0])]
