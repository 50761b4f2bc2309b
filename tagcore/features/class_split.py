"""Rows of numbers with one class each, on two sides: those to learn from and those to measure on.

Columns are brought to mean 0 and deviation 1 by what the rows to learn from say.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tagcore.corpus import Corpus, names_table
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset, write_dataset

KIND = "class-split"
_MOST_CELLS = 200_000_000  # rows are dense here


@dataclass(frozen=True, eq=False)
class Scaling:
    """What is taken from every column, and what it is then divided by; 1 for a column that never changes."""

    means: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> "Scaling":
        deviations = X.std(axis=0)
        return cls(X.mean(axis=0), np.where(deviations > 0, deviations, 1.0))

    def apply(self, X: np.ndarray) -> np.ndarray:
        return (X - self.means) / self.deviations

    def table(self) -> pa.Table:
        return pa.table({"mean": self.means, "deviation": self.deviations})

    @classmethod
    def from_table(cls, table: pa.Table) -> "Scaling":
        return cls(table["mean"].to_numpy(), table["deviation"].to_numpy())


@dataclass(frozen=True, eq=False)
class ClassSide:
    """The scaled rows of one side, and the name of each one's class."""

    X: np.ndarray
    y: np.ndarray


def save_class_split(folder: Path | str, corpus: Corpus, split: Split, **manifest: Any) -> None:
    """Splits the rows of a corpus of numbers, scales them, and writes both sides as one data set.

    ValueError names the row that has no class or several.
    """
    X, y = _rows_and_classes(corpus)
    cuts = split.cuts(lambda: [corpus.documents])
    held_out = split.held_out(corpus.documents, cuts)
    learnt = ~held_out & ~split.left_out(corpus.documents, cuts)
    if not learnt.any() or not held_out.any():
        sides = f"{learnt.sum()} to learn from and {held_out.sum()} to measure on"
        raise ValueError(f"the split leaves {sides} of {len(corpus)} rows, expected some of each")
    scaling = Scaling.of(X[learnt])
    with write_dataset(folder, KIND, **manifest) as writer:
        for side, rows in (("train", learnt), ("test", held_out)):
            scaled = scaling.apply(X[rows])
            lists = pa.ListArray.from_arrays(
                pa.array(np.arange(len(scaled) + 1) * X.shape[1], pa.int32()), scaled.ravel()
            )
            writer.append(side, pa.table({"values": lists, "class": y[rows]}))
        writer.append("classes", names_table(corpus.tag_names))
        writer.append("columns", names_table(corpus.word_names or ()))
        writer.append("scaling", scaling.table())


def load_class_side(folder: Path | str, side: Literal["train", "test"]) -> ClassSide:
    """The rows to learn from, or those to measure on."""
    data = Dataset.open(folder, KIND)
    table = data.read(side, columns=["values", "class"])
    values = table["values"].combine_chunks().flatten().to_numpy()
    return ClassSide(values.reshape(table.num_rows, -1), np.array(data.names("classes"))[table["class"].to_numpy()])


def _rows_and_classes(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    if corpus.words is None:
        raise ValueError("holds texts, expected rows of numbers with one class each")
    if np.prod(corpus.words.shape) > _MOST_CELLS:
        raise ValueError(f"{corpus.words.shape[0]} rows of {corpus.words.shape[1]} columns, expected fewer in all")
    counts = np.diff(corpus.tags.indptr)
    if (counts != 1).any():
        row = int(np.argmax(counts != 1))
        name = corpus.documents["id"][row].as_py()
        raise ValueError(f"row {name!r} has {counts[row]} classes, expected one")
    return corpus.words.toarray().astype(np.float64), corpus.tags.indices.astype(np.int32)
