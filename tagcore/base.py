"""What every stored estimator is: plain parameters, fitted arrays and numbers by name, a folder without pickle."""

import importlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike
from safetensors.numpy import load_file

from tagcore.kernels.ranking import best_of_rows
from tagcore.numeric.read_only import freeze
from tagcore.parameters import Limit, check_limits
from tagcore.scikit import BaseEstimator, check_is_fitted
from tagcore.shards import contiguous
from tagcore.store.array_file import map_array_file, write_array_file
from tagcore.store.files import new_folder, write_text

FORMAT = 1
BLOCK_CELLS = 4_000_000  # scores that are formed together
MODELS: dict[str, type["Estimator"]] = {}  # the only classes that a stored model can name


class Estimator(BaseEstimator):
    """A model that is stored by class name. `TagModel` learns from documents, `RatingModel` from ratings.

    `_arrays` names the fitted arrays that make up its state, `_facts` the fitted numbers, on top of the `_common_` ones
    that all models of its kind have; `_rounds` the parameters that say how long training goes on at most, `_sweeps` how
    often a sampler draws. `_limits` says what values each parameter may have, at fit and in a stored model.
    """

    learns_from: ClassVar[str]
    _arrays: ClassVar[tuple[str, ...]] = ()
    _facts: ClassVar[tuple[str, ...]] = ()
    _common_arrays: ClassVar[tuple[str, ...]] = ()
    _common_facts: ClassVar[tuple[str, ...]] = ()
    _rounds: ClassVar[tuple[str, ...]] = ()
    _sweeps: ClassVar[tuple[str, ...]] = ()
    _limits: ClassVar[Mapping[str, Limit]] = {}

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract and not cls.__name__.startswith("_"):
            MODELS[cls.__name__] = cls

    def save(self, folder: Path | str) -> None:
        """Parameters and fitted arrays, as JSON and safetensors, in a folder that must not stand yet."""
        head = {"format": FORMAT, **self.parts()}
        arrays = head.pop("arrays")
        with new_folder(Path(folder)) as filling:
            write_array_file(filling / "state.safetensors", contiguous(arrays))
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
    def load(cls, folder: Path | str, mapped: bool = False) -> Self:
        """The stored model; ValueError says what is wrong with a folder that holds none of this class.

        `mapped` arrays lie in the pages of their file, which was found whole and must stay while the model is used.
        """
        model = load_estimator(folder, mapped)
        if not isinstance(model, cls):
            raise ValueError(f"{folder}: holds a {type(model).__name__}, expected a {cls.__name__}")
        return model

    def _check_params(self) -> None:
        """Raises ValueError for a parameter outside of its limits; a subclass adds what two together must be."""
        check_limits(self._limits, self)

    def _check_state(self) -> None:
        """Raises ValueError where loaded arrays and numbers do not fit together, or have other types than after `fit`:
        kernels do not look before they read, and are compiled anew for another type.
        """
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
    """The model whose `parts` these are."""
    known = find_model_class(parts["class"])
    assert known is not None
    model = known(**parts["params"])
    for name, value in (parts["arrays"] | parts["facts"]).items():
        setattr(model, name, value)
    return model


def registered_models() -> dict[str, type[Estimator]]:
    """The classes of all models, by name."""
    for package in _packages_of_models():
        for name in package.__all__:
            getattr(package, name)  # imports it, which registers it
    return MODELS


def find_model_class(name: str) -> type[Estimator] | None:
    """The class of this name, if there is one; no other model is imported for it."""
    for package in _packages_of_models():
        if name not in MODELS and name in package.__all__:
            getattr(package, name)
    return MODELS.get(name)


def _packages_of_models() -> list[Any]:
    # by name: they stand above this module, which knows none of them
    return [importlib.import_module(f"tagcore.{room}") for room in ("models", "baselines")]


def load_estimator(folder: Path | str, mapped: bool = False) -> Estimator:
    """A stored model of any registered class. Only JSON and safetensors are read: nothing in them can run.

    ValueError, whatever is wrong with the folder: a file missing, cut or altered, parameters outside of their limits,
    arrays that do not fit together. A model that is returned is safe to ask.
    """
    folder = Path(folder)
    try:
        head = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        name, params, facts = head["class"], head["params"], head["facts"]
        version = head["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{folder / 'model.json'}: not the head of a stored model ({error!r})") from error
    if version != FORMAT:
        raise ValueError(f"{folder / 'model.json'}: format {version!r}, this version reads {FORMAT}")
    known = find_model_class(name) if isinstance(name, str) else None
    if known is None:
        choices = sorted(registered_models())
        raise ValueError(f"{folder / 'model.json'}: unknown class {name!r}, expected one of {choices}")
    try:
        model = known(**params)
        model._check_params()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{folder / 'model.json'}: not the parameters of {name} ({error})") from error
    try:
        arrays = (map_array_file if mapped else load_file)(folder / "state.safetensors")
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
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise ValueError(f"{folder}: its arrays do not fit together ({error})") from error
    return model


def require_array(
    values: np.ndarray,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    what: str,
    least: float = -np.inf,
    most: float = np.inf,
) -> None:
    """Raises ValueError unless these are finite numbers of that type and shape, from `least` to `most`."""
    if values.dtype != np.dtype(dtype):
        raise ValueError(f"{what} is {values.dtype}, expected {np.dtype(dtype)}")
    if values.shape != shape:
        raise ValueError(f"{what} has shape {values.shape}, expected {shape}")
    if not values.size:
        return
    lowest, highest = values.min(), values.max()  # NaN or infinite where any cell is
    if not np.isfinite(lowest) or not np.isfinite(highest):
        raise ValueError(f"{what} must be finite numbers")
    if not least <= lowest <= highest <= most:
        raise ValueError(f"{what} must be numbers from {least} to {most}")


def require_lists(starts: np.ndarray, ids: np.ndarray, rows: int, columns: int, what: str) -> None:
    """Raises ValueError unless row i has the ids ids[starts[i] : starts[i + 1]], each from 0 to columns - 1."""
    if rows < 0:
        raise ValueError(f"it is not said where rows of {what} start")
    require_array(starts, (rows + 1,), np.int64, f"where rows of {what} start", 0, ids.size)
    if starts[0] != 0 or starts[-1] != ids.size or (np.diff(starts) < 0).any():
        raise ValueError(f"{what} must have {rows} rows that start at 0, never fall and end at {ids.size}")
    require_array(ids, (ids.size,), np.int32, f"columns of {what}", 0, columns - 1)


def require_csr(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, rows: int, columns: int, what: str) -> None:
    """Raises ValueError unless these are the three arrays of a CSR matrix of that shape, as models keep them."""
    require_lists(indptr, indices, rows, columns, what)
    require_array(data, indices.shape, np.float32, f"values of {what}")


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
