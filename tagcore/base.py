"""What every tagger is: scikit-learn's conventions around a few hooks."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load_file, save_file
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from tagcore.features.rows import XY, InMemory, Rows
from tagcore.kernels.ranking import best_of_rows
from tagcore.label_matrix import label_matrix, observed_cells
from tagcore.progress import Progress, no_progress
from tagcore.shards import Executor, InProcess, contiguous, freeze
from tagcore.store.files import new_folder, write_text
from tagcore.training import Checkpoints, FitContext

FORMAT = 1
BLOCK_CELLS = 4_000_000  # scores that are formed together
MODELS: dict[str, type["TagModel"]] = {}  # the only classes that a stored model can name


class TagModel(BaseEstimator):
    """A model that learns tags from rows of words.

    A subclass writes `_fit(rows, context)` and `_scores(X)`; where it can do better than dense blocks it also writes
    `_top_k(X, k)`. `_arrays` names the fitted arrays that make up its state; `_facts` the fitted numbers; `_rounds` the
    parameters that say how long training goes on. `_uses_observed` tells that it can leave cells of y out.
    """

    _arrays: ClassVar[tuple[str, ...]] = ()
    _facts: ClassVar[tuple[str, ...]] = ()
    _rounds: ClassVar[tuple[str, ...]] = ()
    _uses_observed: ClassVar[bool] = False

    n_labels_: int
    n_features_in_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.__name__.startswith("_"):
            MODELS[cls.__name__] = cls

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
    ) -> Self:
        """As `fit`, bit for bit, on rows wherever they are: a model that learns in shards reads no more than a shard,
        where it runs; any other takes all rows into memory. Models that learn in rounds keep checkpoints.
        """
        context = FitContext(executor or InProcess(), progress or no_progress, checkpoints)
        self._fit_in_context(rows, observed, context)
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
        X = self._checked(X)
        step = block_rows(self.n_labels_, cells)
        for start in range(0, X.shape[0], step):
            rows = slice(start, min(start + step, X.shape[0]))
            yield rows, self._scores(X[rows])

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

    def save(self, folder: Path | str) -> None:
        """Parameters and fitted arrays, as JSON and safetensors, in a folder that must not stand yet."""
        head = {"format": FORMAT, **self.parts()}
        arrays = head.pop("arrays")
        with new_folder(Path(folder)) as filling:
            save_file(contiguous(arrays), filling / "state.safetensors")
            write_text(filling / "model.json", json.dumps(head, indent=1, sort_keys=True))

    def parts(self) -> dict[str, Any]:
        """Plain data and arrays of which `from_parts` makes this model again, in whichever process."""
        check_is_fitted(self)
        return {
            "class": type(self).__name__,
            "params": _plain(self.get_params(deep=False), type(self).__name__),
            "facts": {f: _number(getattr(self, f)) for f in ("n_labels_", "n_features_in_", *self._facts)},
            "arrays": {a: getattr(self, a) for a in self._arrays},
        }

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """The stored model; ValueError says what is wrong with a folder that holds none of this class."""
        model = load_estimator(folder)
        if not isinstance(model, cls):
            raise ValueError(f"{folder}: holds a {type(model).__name__}, expected a {cls.__name__}")
        return model

    def _fit(self, rows: Rows, context: FitContext) -> None:
        """Learns from checked rows; `n_features_in_` and `n_labels_` still are those of what was known before."""
        raise NotImplementedError  # abstract

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        raise NotImplementedError  # abstract

    def _check_state(self) -> None:
        """Raises ValueError where loaded arrays do not fit together: kernels do not look before they read."""
        raise NotImplementedError  # abstract

    def _top_k(self, X: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        tags, scores = np.empty((X.shape[0], k), np.int64), np.empty((X.shape[0], k))
        for rows, block in self.score_blocks(X):
            tags[rows], scores[rows] = best_k(block, k)
        return tags, scores

    def _fit_in_context(self, rows: Rows, observed: Any, context: FitContext) -> None:
        """Goes through the hook: the one way to fit, whoever asks."""
        if observed is not None:
            if not self._uses_observed:
                raise ValueError(f"{type(self).__name__} learns from all cells of y: it cannot do without some of them")
            context = replace(context, observed=observed_cells(observed, (rows.n_rows, rows.n_labels)))
        with restore_on_failure(self):
            self._fit(rows, context)
            self.__dict__.pop("feature_names_in_", None)  # rows know columns by number
            self.n_features_in_, self.n_labels_ = rows.n_features, rows.n_labels

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

    def _checked(self, X: Any) -> sp.csr_matrix:
        check_is_fitted(self)
        return self._rows(X, reset=False)

    def _rows(self, X: Any, *, reset: bool) -> sp.csr_matrix:
        X = sp.csr_matrix(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset))
        if not X.has_canonical_format:  # words in order and each once; the caller's matrix stays as it is
            X = X.copy()
            X.sum_duplicates()
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


@contextmanager
def restore_on_failure(model: TagModel) -> Iterator[None]:
    """Keeps what was known before when learning fails; learners replace arrays and do not write to old ones."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        model.__dict__ = before
        raise


def from_parts(parts: dict[str, Any]) -> TagModel:
    """The model whose `parts` these are; its class must have been imported."""
    model = MODELS[parts["class"]](**parts["params"])
    for name, value in (parts["arrays"] | parts["facts"]).items():
        setattr(model, name, value)
    return model


def load_estimator(folder: Path | str) -> TagModel:
    """A stored model of any registered class. Only JSON and safetensors are read: nothing in them can run."""
    import tagcore.baselines
    import tagcore.models  # noqa: F401  both register their classes

    folder = Path(folder)
    try:
        head = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        name, params, facts = head["class"], head["params"], head["facts"]
        version = head["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / 'model.json'}: not the head of a stored model ({error!r})") from error
    if version != FORMAT:
        raise ValueError(f"{folder / 'model.json'}: format {version!r}, this version reads {FORMAT}")
    if not isinstance(name, str) or name not in MODELS:
        raise ValueError(f"{folder / 'model.json'}: unknown class {name!r}, expected one of {sorted(MODELS)}")
    try:
        model = MODELS[name](**params)
    except TypeError as error:
        raise ValueError(f"{folder / 'model.json'}: not the parameters of {name} ({error})") from error
    try:
        arrays = load_file(folder / "state.safetensors")
    except Exception as error:  # safetensors raises its own class for a damaged file
        raise ValueError(f"{folder / 'state.safetensors'}: cannot be read ({error})") from error
    if set(arrays) != set(model._arrays):
        raise ValueError(
            f"{folder / 'state.safetensors'}: holds arrays {sorted(arrays)}, expected {sorted(model._arrays)}"
        )
    expected = {"n_labels_", "n_features_in_", *model._facts}
    if not isinstance(facts, dict) or set(facts) != expected:
        raise ValueError(f"{folder / 'model.json'}: facts {facts!r}, expected those named {sorted(expected)}")
    for key, value in {**arrays, **facts}.items():
        setattr(model, key, value)
    try:
        model._check_state()
    except (ValueError, TypeError) as error:
        raise ValueError(f"{folder}: its arrays do not fit together ({error})") from error
    return model


def require_vector(values: np.ndarray, size: int, what: str) -> None:
    """One finite number for each of `size` things."""
    if values.shape != (size,) or values.dtype.kind != "f" or not np.isfinite(values).all():
        raise ValueError(f"{what} must be {size} finite numbers")


def require_csr(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, rows: int, columns: int, what: str) -> None:
    """The three arrays of a CSR matrix of that shape."""
    whole = indptr.dtype.kind == indices.dtype.kind == "i" and indptr.shape == (rows + 1,) and indices.ndim == 1
    if not whole or indptr[0] != 0 or indptr[-1] != indices.size or (np.diff(indptr) < 0).any():
        raise ValueError(f"{what} must be a CSR matrix of {rows} rows")
    if indices.size and not 0 <= indices.min() <= indices.max() < columns:
        raise ValueError(f"{what} must have columns 0 to {columns - 1}")
    require_vector(data, indices.size, what)


def best_k(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k best columns of every row, best first, ties to the lower column."""
    k = min(k, scores.shape[1])
    if k <= 64:
        return best_of_rows(freeze(np.ascontiguousarray(scores)), k)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return best, np.take_along_axis(scores, best, axis=1).astype(np.float64)


def block_rows(n_labels: int, cells: int = BLOCK_CELLS) -> int:
    """How many rows are scored together."""
    return max(1, cells // n_labels)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain(params: dict[str, Any], name: str) -> dict[str, Any]:
    try:
        json.dumps(params)
    except TypeError as error:
        raise ValueError(f"{name} cannot be stored: a parameter is not plain data ({error})") from error
    return params
