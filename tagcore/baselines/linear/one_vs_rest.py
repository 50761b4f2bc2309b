"""One-vs-rest support vector machines."""

from typing import Self

import scipy.sparse as sp

from tagcore.baselines.linear.sparse import _SparseLinear
from tagcore.baselines.linear.working_set import LANES, WorkingSetSettings, shared_rows, solve_by_working_sets
from tagcore.parameters import FLAG, POSITIVE, ROUNDS, SEED, Choice, Real, Whole, limits
from tagcore.scikit import check_random_state, clone
from tagcore.shards import Arrays

_TWIN_TOL = 0.1  # liblinear's own default: unseen documents are ranked as well, for three fifths of the time
MANY_TAGS, FEWEST_OF_MANY = 10_000, 5  # where tags are so many, most are of a document or two


class OneVsRestLinear(_SparseLinear):
    """One-vs-rest linear support vector machines: liblinear's problem, solved faster when tags are many.

    min over w of ½‖w‖² + C Σ loss(y·w·x), dual, to liblinear's stopping rule, for each tag on its own. Weights below
    `prune` are dropped and the rest kept as a sparse float32 matrix, words × tags. A tag that all training documents
    have, or fewer than `min_docs`, has a constant score: the first comes first, the others come last. `predict_proba`
    is the logistic function of the score, which orders tags but is not calibrated.

    Parameters
    ----------
    C : weight of the loss; larger fits the training documents more closely.
    loss : "squared_hinge" or "hinge".
    class_weight : "balanced" gives the documents with and without a tag the same total weight.
    normalise : bring rows to unit length first; convergence and `prune` expect values of about this size.
    fit_intercept : learn a constant beside the words; like liblinear's it is regularised with them.
    min_docs : tags of fewer documents are not learnt. None: 1, and 5 where tags are more than 10,000.
    prune : weights of smaller magnitude are dropped; 0 keeps all.
    tol, max_iter : when a tag's descent ends, as in liblinear.
    random_state : the order in which documents are visited, keyed by tag.

    Examples
    --------
    >>> model = OneVsRestLinear().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]])
    >>> model.top_k([[2.0, 1.0]], 1)[0]
    array([[0]])
    """

    _solver = solve_by_working_sets
    _shard_tags = LANES
    _limits = limits(
        C=POSITIVE,
        loss=Choice("squared_hinge", "hinge"),
        class_weight=Choice(None, "balanced"),
        normalise=FLAG,
        fit_intercept=FLAG,
        min_docs=Whole(none=True),
        prune=Real(least=0),
        tol=POSITIVE,
        max_iter=ROUNDS,
        random_state=SEED,
    )

    def __init__(
        self,
        C: float = 0.5,
        loss: str = "squared_hinge",
        class_weight: str | None = None,
        normalise: bool = True,
        fit_intercept: bool = True,
        min_docs: int | None = None,
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
        self.min_docs = min_docs
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def twin(self) -> Self:
        """Makes an unfitted model like this one, solved as closely as ranking unseen documents needs."""
        return clone(self).set_params(tol=max(self.tol, _TWIN_TOL))

    def _prepare(self, X: sp.csr_matrix) -> tuple[WorkingSetSettings, Arrays]:
        settings = WorkingSetSettings(
            tol=self.tol,
            max_iter=self.max_iter,
            prune=self.prune,
            cost=self.C,
            squared=self.loss == "squared_hinge",
            balanced=self.class_weight == "balanced",
            seed=int(check_random_state(self.random_state).randint(2**31)),
        )
        return settings, shared_rows(X, self.fit_intercept, settings.seed)

    def _fewest_documents(self, n_tags: int) -> int:
        if self.min_docs is not None:
            return self.min_docs
        return FEWEST_OF_MANY if n_tags > MANY_TAGS else 1
