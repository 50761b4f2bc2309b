"""The orders in which online learners visit rows."""

import numpy as np

from tagcore.scikit import check_random_state


def pass_orders(n: int, passes: int, shuffle: bool, random_state: int) -> np.ndarray:
    """Gives the order of n rows in each pass, one line each: drawn anew, or always as the rows are."""
    if not shuffle:
        return np.tile(np.arange(n), (passes, 1))
    rng = check_random_state(random_state)
    return np.stack([rng.permutation(n) for _ in range(passes)])
