"""Which numbers of documents came before; eight bytes each, so that millions can be told apart."""

import numpy as np


class SeenIds:
    def __init__(self) -> None:
        self._ids = np.empty(0, np.int64)

    def again(self, ids: np.ndarray) -> np.ndarray:
        """True where an id came before, in an earlier call or earlier in this one. All of them have now been seen."""
        new, first = np.unique(ids, return_index=True)
        again = np.ones(len(ids), bool)
        again[first] = np.isin(new, self._ids, assume_unique=True)
        # two sorted runs, which the stable sort merges in one pass
        self._ids = np.sort(np.concatenate([self._ids, new[~again[first]]]), kind="stable")
        return again
