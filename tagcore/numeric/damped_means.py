"""Means of groups, drawn towards 0 where there is little to see."""

import numpy as np


def damped_means(values: np.ndarray, groups: np.ndarray, size: int, damping: float) -> np.ndarray:
    """Sum of each group's values over their number and `damping` more; 0 for a group without values."""
    counts = np.bincount(groups, minlength=size)
    sums = np.bincount(groups, values, minlength=size)
    return np.divide(sums, counts + damping, out=np.zeros(size), where=counts > 0)
