"""What models take from scikit-learn. Its functions are imported at the first call, and to ask a model calls none."""

import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tagcore.inference_only import serves_only

if TYPE_CHECKING or not serves_only():
    from sklearn.base import BaseEstimator
else:

    class BaseEstimator:
        """Stands for scikit-learn's where nothing is fitted, and has of it what a stored model is asked for."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """The parameters by name, as the constructor got them."""
            names = list(inspect.signature(type(self).__init__).parameters)[1:]
            return {name: getattr(self, name) for name in names}


def _at_first_call(module: str, name: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return function


clone = _at_first_call("sklearn.base", "clone")
check_array = _at_first_call("sklearn.utils.validation", "check_array")
check_random_state = _at_first_call("sklearn.utils", "check_random_state")
isotonic_regression = _at_first_call("sklearn.isotonic", "isotonic_regression")
kmeans_plusplus = _at_first_call("sklearn.cluster", "kmeans_plusplus")
mean_variance_axis = _at_first_call("sklearn.utils.sparsefuncs", "mean_variance_axis")
normalize = _at_first_call("sklearn.preprocessing", "normalize")
validate_data = _at_first_call("sklearn.utils.validation", "validate_data")
_raise_if_not_fitted = _at_first_call("sklearn.utils.validation", "check_is_fitted")


def check_is_fitted(estimator: Any) -> None:
    """Raises scikit-learn's NotFittedError, by its own rule: what is fitted has an attribute that ends in _."""
    if not any(name.endswith("_") and not name.startswith("__") for name in vars(estimator)):
        _raise_if_not_fitted(estimator)


def not_fitted(message: str) -> Exception:
    """scikit-learn's NotFittedError, to be raised."""
    from sklearn.exceptions import NotFittedError

    return NotFittedError(message)


def warn_of_convergence(message: str, stacklevel: int) -> None:
    """Warns, as scikit-learn does, that a solver ended before it was done; the level is that of the caller."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)
