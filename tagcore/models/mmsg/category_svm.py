"""Tags by category as MMSG has them, with a linear support vector machine in place of the Gaussian process."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from tagcore.base import require_array
from tagcore.features.rows import Rows, load_all
from tagcore.models.mmsg.category_model import CATEGORY_LIMITS, CategoryModel
from tagcore.models.sgps.softmax import log_likelihoods, probabilities
from tagcore.numeric.normalise import normalise_rows
from tagcore.parameters import POSITIVE, SEED, Real, limits
from tagcore.training import FitContext

_COSTS = (0.03, 0.1, 0.3, 1.0)
_HELD_OUT = 0.1
_LOG_SHARPNESS = (-3.0, 5.0)


class CategorySVM(CategoryModel):
    """Tags by category, which a linear machine says: what MMSG is compared with.

    Scores of liblinear's one-against-the-rest machines become probabilities of categories by softmax(sharpness ·
    score); sharpness, and C where it is None, are those under which a tenth of the documents, held out, are likeliest.

    Parameters
    ----------
    n_categories, min_docs, weights, normalise : as of `MMSG`.
    C : weight of the loss; None tries 0.03, 0.1, 0.3 and 1.
    share : part of the documents that categories are learnt from, by chance; tags of a category are those of all.
    random_state : which documents are held out, and the order in which liblinear visits them.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]] * 10
    >>> Y = [[2, 1, 0], [2, 0, 0], [0, 0, 1], [0, 1, 3]] * 10
    >>> model = CategorySVM().fit(X, Y)
    >>> model.top_k([[1.0, 0.0], [0.0, 1.0]], 1)[0].ravel().tolist()
    [0, 2]
    """

    _arrays = ("directions_", "intercepts_")
    _facts = ("sharpness_",)
    _limits = limits(**CATEGORY_LIMITS, C=Real(above=0, none=True), share=Real(above=0, most=1), random_state=SEED)

    directions_: np.ndarray  # (D, C)
    intercepts_: np.ndarray
    sharpness_: float

    def __init__(
        self,
        n_categories: int | None = 100,
        min_docs: int = 5,
        weights: str = "documents",
        normalise: bool = True,
        C: float | None = None,
        share: float = 1.0,
        random_state: Any = 0,
    ) -> None:
        self.n_categories = n_categories
        self.min_docs = min_docs
        self.weights = weights
        self.normalise = normalise
        self.C = C
        self.share = share
        self.random_state = random_state

    def _fit_categories(self, rows: Rows, categories: np.ndarray, context: FitContext) -> None:
        rng = check_random_state(self.random_state)
        X = normalise_rows(load_all(rows)[0], bool(self.normalise))
        size, seed = int(categories.max()) + 1, int(rng.randint(2**31))
        order = rng.permutation(categories.size)[: max(1, round(self.share * categories.size))]
        held_out, others = np.split(order, [max(1, round(_HELD_OUT * order.size))])
        self.sharpness_, C = 1.0, self.C or _COSTS[-1]
        if others.size and size > 1:
            tried = []
            for cost in _COSTS if self.C is None else (self.C,):
                F = _scores(X[held_out], *_machines(X[others], categories[others], size, cost, seed))
                tried.append((*_sharpest(F, categories[held_out]), cost))
            _, self.sharpness_, C = min(tried)
        learnt = np.sort(order)
        self.directions_, self.intercepts_ = _machines(X[learnt], categories[learnt], size, C, seed)

    def _category_proba(self, X: sp.csr_matrix) -> np.ndarray:
        X = normalise_rows(X, bool(self.normalise))
        return probabilities(self.sharpness_ * _scores(X, self.directions_, self.intercepts_))

    def _check_state(self) -> None:
        super()._check_state()
        size = self.category_tags_.size
        POSITIVE.check("sharpness_", self.sharpness_)
        require_array(self.directions_, (self.n_features_in_, size), np.float64, "directions_")
        require_array(self.intercepts_, (size,), np.float64, "intercepts_")


def _machines(
    X: sp.csr_matrix, categories: np.ndarray, size: int, C: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """(directions, intercepts) of every category; one that no document has scores -1 everywhere."""
    directions, intercepts = np.zeros((X.shape[1], size)), np.full(size, -1.0)
    known = np.unique(categories)
    if known.size == 1:
        intercepts[known] = 0.0
        return directions, intercepts
    machine = LinearSVC(C=C, random_state=seed).fit(X.astype(np.float64), categories)
    coefficients, constants = machine.coef_, machine.intercept_
    if known.size == 2:  # liblinear has one machine for both
        coefficients, constants = np.vstack([-coefficients, coefficients]), np.append(-constants, constants)
    directions[:, known], intercepts[known] = coefficients.T, constants
    return directions, intercepts


def _scores(X: sp.csr_matrix, directions: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    return np.asarray(X @ directions) + intercepts


def _sharpest(F: np.ndarray, categories: np.ndarray) -> tuple[float, float]:
    """(loss, sharpness) under which these categories are likeliest."""

    def loss(log_sharpness: float) -> float:
        return -float(log_likelihoods(np.exp(log_sharpness) * F, categories).mean())

    found = minimize_scalar(loss, bounds=_LOG_SHARPNESS, method="bounded")
    return float(found.fun), float(np.exp(found.x))
