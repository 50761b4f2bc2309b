"""The first rows of a data set, as a data set."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import XY, Rows


@dataclass(frozen=True)
class Head:
    """Rows 0 to n_rows - 1 of others, read where those are."""

    rows: Rows
    n_rows: int

    def __post_init__(self) -> None:
        if not 0 < self.n_rows <= self.rows.n_rows:
            raise ValueError(f"the first {self.n_rows} of {self.rows.n_rows} rows: there are not so many")

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    @property
    def n_labels(self) -> int:
        return self.rows.n_labels

    def load(self, part: slice) -> XY:
        return self.rows.load(part)

    def labels(self, part: slice) -> sp.csr_matrix:
        return self.rows.labels(part)

    def part(self, part: slice) -> Any:
        return self.rows.part(part)

    def select(self, numbers: np.ndarray) -> Rows:
        return self.rows.select(numbers)


def head(rows: Rows, n: int) -> Head:
    """The first n rows, or all where there are fewer."""
    return Head(rows, min(n, rows.n_rows))
