"""What every stored estimator is: plain parameters, fitted arrays and numbers by name, a folder without pickle."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from safetensors.numpy import load_file, save_file
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tagcore.kernels.ranking import best_of_rows
from tagcore.shards import contiguous, freeze
from tagcore.store.files import new_folder, write_text

FORMAT = 1
BLOCK_CELLS = 4_000_000  # scores that are formed together
MODELS: dict[str, type["Estimator"]] = {}  # the only classes that a stored model can name


class Estimator(BaseEstimator):
    """A model that is stored by class name. `TagModel` learns from documents, `RatingModel` from ratings.

    `_arrays` names the fitted arrays that make up its state, `_facts` the fitted numbers, on top of the `_common_` ones
    that all models of its kind have; `_rounds` the parameters that say how long training goes on.
    """

    learns_from: ClassVar[str]
    _arrays: ClassVar[tuple[str, ...]] = ()
    _facts: ClassVar[tuple[str, ...]] = ()
    _common_arrays: ClassVar[tuple[str, ...]] = ()
    _common_facts: ClassVar[tuple[str, ...]] = ()
    _rounds: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract and not cls.__name__.startswith("_"):
            MODELS[cls.__name__] = cls

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
            "facts": {f: _number(getattr(self, f)) for f in self._all_facts()},
            "arrays": {a: getattr(self, a) for a in self._all_arrays()},
        }

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """The stored model; ValueError says what is wrong with a folder that holds none of this class."""
        model = load_estimator(folder)
        if not isinstance(model, cls):
            raise ValueError(f"{folder}: holds a {type(model).__name__}, expected a {cls.__name__}")
        return model

    def _check_state(self) -> None:
        """Raises ValueError where loaded arrays do not fit together: kernels do not look before they read."""
        raise NotImplementedError  # abstract

    @classmethod
    def _all_arrays(cls) -> tuple[str, ...]:
        return (*cls._common_arrays, *cls._arrays)

    @classmethod
    def _all_facts(cls) -> tuple[str, ...]:
        return (*cls._common_facts, *cls._facts)


@contextmanager
def restore_on_failure(model: Estimator) -> Iterator[None]:
    """Keeps what was known before when learning fails; learners replace arrays and do not write to old ones."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        model.__dict__ = before
        raise


def from_parts(parts: dict[str, Any]) -> Estimator:
    """The model whose `parts` these are; its class must have been imported."""
    model = MODELS[parts["class"]](**parts["params"])
    for name, value in (parts["arrays"] | parts["facts"]).items():
        setattr(model, name, value)
    return model


def load_estimator(folder: Path | str) -> Estimator:
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
    if set(arrays) != (expected := set(model._all_arrays())):
        raise ValueError(f"{folder / 'state.safetensors'}: holds arrays {sorted(arrays)}, expected {sorted(expected)}")
    if not isinstance(facts, dict) or set(facts) != (expected := set(model._all_facts())):
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
