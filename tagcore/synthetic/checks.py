"""Checks of the parameters of planted data."""

from typing import Any

import numpy as np


def check(name: str, value: Any, low: float, high: float, whole: bool = False) -> None:
    """Raises ValueError unless low <= value <= high; `whole` asks for an integer. True and False are no numbers."""
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"{name} = {value!r}, expected {kind} from {low} to {high}")
