"""What every tagging model is: scikit-learn's conventions around a few hooks.

A new one is a folder of `tagcore/models/`, or a file of `tagcore/baselines/`, and a line in its `__init__`. What is
stored and served, with words and names of tags, is a `Tagger` (`tagger.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tagcore.base import BLOCK_CELLS, Estimator, best_k, block_rows, restore_on_failure
from tagcore.features.rows import XY, InMemory, Rows
from tagcore.kernels.sparse import are_clean_rows
from tagcore.label_matrix import label_matrix, observed_cells
from tagcore.parameters import Whole, check_limits
from tagcore.progress import Progress, no_progress
from tagcore.scikit import check_is_fitted, clone, validate_data
from tagcore.shards import Executor, InProcess
from tagcore.training import Checkpoints, FitContext, SharedFits


class TagModel(Estimator, abstract=True):
    """A model that learns tags from rows of words.

    A subclass writes `_fit(rows, context)` and `_scores(X)`; where it can do better than dense blocks it also writes
    `_top_k(X, k)`. `_uses_observed` tells that it can leave cells of y out. See `Estimator` for what names its state.
    """

    learns_from = "documents"
    _common_facts: ClassVar[tuple[str, ...]] = ("n_labels_", "n_features_in_")
    _uses_observed: ClassVar[bool] = False
    can_be_member: ClassVar[bool] = True  # of a blend, which then has the same fit as the model by itself
    gives_probabilities: ClassVar[bool] = False  # learnt on documents it had not seen: it needs no calibrator
    wanted_features: ClassVar[Mapping[str, Any]] = MappingProxyType({})  # where nobody chose others: counts, say

    n_labels_: int
    n_features_in_: int

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        observed: Any = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learns from CSR rows X (n × D) and tags y (n × L, counts or 0/1, CSR or dense).

        `observed` (n × L, CSR or dense, above 0 where a cell was looked at) hides all other cells of y, whatever they
        hold, from a model that can do without them.
        """
        checked = clone(self)._rows(X, reset=True)  # by a clone: until it is learnt, what was known stays
        rows = InMemory(checked, label_matrix(y, checked.shape[0]))
        self._fit_in_context(rows, observed, FitContext(executor or InProcess(), progress or no_progress))
        validate_data(self, X, skip_check_array=True)  # remembers the names of the columns, where X has them
        return self

    def fit_rows(
        self,
        rows: Rows,
        *,
        observed: Any = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
        checkpoints: Checkpoints | None = None,
        kept: SharedFits | None = None,
    ) -> Self:
        """As `fit`, bit for bit, on rows wherever they are: a model that learns in shards reads no more than a shard,
        where it runs; any other takes all rows into memory. Models that learn in rounds keep checkpoints; those made
        of others take their fits from `kept` ones, where these stand.
        """
        context = FitContext(executor or InProcess(), progress or no_progress, checkpoints, kept)
        self._fit_in_context(rows, observed, context)
        return self

    def twin(self) -> Self:
        """Makes an unfitted model like this one, which learns from some of the documents in order to score the others:
        solved as closely as that needs."""
        return clone(self)

    def fit_without(self, left_out: np.ndarray | None, rows: Rows, context: FitContext) -> Self:
        """Learns from the rows but those that `left_out` marks (None: from all), or takes that fit where it is kept, as
        those of members of blends are."""

        def fit() -> None:
            learnt = rows if left_out is None else rows.select(np.flatnonzero(~left_out))
            self._fit_in_context(learnt, None, context)

        if context.kept is None or not self.can_be_member:
            fit()
        else:
            context.kept.fit(self, left_out, fit)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Dense (n, L), one independent probability per tag; where L is large use `top_k`."""
        return self.proba(self._scores(self._checked(X)))

    def predict(self, X: Any) -> sp.csr_matrix:
        """Tags whose probability is above one half, CSR (n, L)."""
        blocks = [sp.csr_matrix(self.proba(s) > 0.5, dtype=np.int8) for _, s in self.score_blocks(X)]
        return sp.vstack(blocks, format="csr")

    def top_k(self, X: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """(tags, scores), two (n, min(k, L)) arrays, best first, ties to the lower tag id."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        return self._top_k(self._checked(X), min(k, self.n_labels_))

    def score_blocks(self, X: Any, cells: int = BLOCK_CELLS) -> Iterator[tuple[slice, np.ndarray]]:
        """Dense scores of a few rows at a time, so that n × L is never formed."""
        return self._score_blocks(self._checked(X), cells)

    def score(self, X: Any, y: Any) -> float:
        """Precision at 1."""
        best = self.top_k(X, 1)[0][:, 0]
        Y = label_matrix(y, best.size)
        if Y.shape[1] != self.n_labels_:
            raise ValueError(f"y has {Y.shape[1]} tags, the model {self.n_labels_}")
        return float(np.mean(np.asarray(Y[np.arange(best.size), best]) > 0))

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Scores as probabilities; the same everywhere, monotone in the score."""
        return scores

    def _fit(self, rows: Rows, context: FitContext) -> None:
        """Learns from checked rows; `n_features_in_` and `n_labels_` still are those of what was known before."""
        raise NotImplementedError  # abstract

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        raise NotImplementedError  # abstract

    def _top_k(self, X: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        tags, scores = np.empty((X.shape[0], k), np.int64), np.empty((X.shape[0], k))
        for rows, block in self._score_blocks(X):
            tags[rows], scores[rows] = best_k(block, k)
        return tags, scores

    def _score_blocks(self, X: sp.csr_matrix, cells: int = BLOCK_CELLS) -> Iterator[tuple[slice, np.ndarray]]:
        """As `score_blocks`, of rows that are checked."""
        n, step = X.shape[0], block_rows(self.n_labels_, cells)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self._scores(X if n <= step else X[rows])  # slicing one row takes as long as scoring it

    def _fit_in_context(self, rows: Rows, observed: Any, context: FitContext) -> None:
        """Goes through the hook: the one way to fit, whoever asks."""
        self._check_params()
        if observed is not None:
            if not self._uses_observed:
                raise ValueError(f"{type(self).__name__} learns from all cells of y: it cannot do without some of them")
            context = replace(context, observed=observed_cells(observed, (rows.n_rows, rows.n_labels)))
        with restore_on_failure(self):
            self._fit(rows, context)
            self.__dict__.pop("feature_names_in_", None)  # rows know columns by number
            self.n_features_in_, self.n_labels_ = rows.n_features, rows.n_labels

    def _check_state(self) -> None:
        """Proves the sizes that other checks lean on; a subclass adds what it keeps."""
        check_limits({"n_labels_": Whole(), "n_features_in_": Whole()}, self)

    def _checked_batch(self, X: Any, y: Any) -> XY:
        """Rows and tags of one `partial_fit`, of which the first says how many words and tags there are."""
        fresh = not hasattr(self, "n_labels_")
        X = self._rows(X, reset=fresh)
        Y = label_matrix(y, X.shape[0])
        if fresh:
            self.n_labels_ = Y.shape[1]
        elif Y.shape[1] != self.n_labels_:
            hint = ": `grow` appends tags and words" if hasattr(self, "grow") else ""
            raise ValueError(f"y has {Y.shape[1]} tags, the model {self.n_labels_}{hint}")
        return X, Y

    def _new_words_and_tags(self, words: int, tags: int) -> tuple[int, int]:
        """How many of each `grow` shall append; ValueError where there would be fewer than are known."""
        if words < self.n_features_in_ or tags < self.n_labels_:
            known = f"the model knows {self.n_features_in_} words and {self.n_labels_} tags"
            raise ValueError(f"{known}; {words} and {tags} would be fewer")
        return words - self.n_features_in_, tags - self.n_labels_

    def _checked(self, X: Any) -> sp.csr_matrix:
        """Gives rows that kernels can read without looking; ValueError says what is wrong with any other.

        scikit-learn's checks take ten times as long as a kernel for one row, so CSR rows that they would give back as
        they are do not go through them.
        """
        if self._reads_as_is(X):
            return X
        check_is_fitted(self)
        return self._rows(X, reset=False)

    def _reads_as_is(self, X: Any) -> bool:
        fitted = vars(self)
        return (
            type(X) is sp.csr_matrix
            and "n_labels_" in fitted
            and "feature_names_in_" not in fitted  # scikit-learn warns where names are missing
            and X.shape[0] > 0
            and X.shape[1] == fitted["n_features_in_"]
            and X.data.dtype in (np.float64, np.float32)
            and are_clean_rows(X.data, X.indices, X.indptr, X.shape[1])
        )

    def _rows(self, X: Any, *, reset: bool) -> sp.csr_matrix:
        X = sp.csr_matrix(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset))
        if not X.has_canonical_format:  # words in order and each once; the caller's matrix stays as it is
            X = X.copy()
            X.sum_duplicates()
        words = X.indices[: X.nnz]
        if words.size and not 0 <= words.min() <= words.max() < X.shape[1]:
            at = int(np.flatnonzero((words < 0) | (words >= X.shape[1]))[0])
            row = int(np.searchsorted(X.indptr, at, side="right")) - 1
            raise ValueError(f"row {row} has word {words[at]}, expected one from 0 to {X.shape[1] - 1}")
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags
