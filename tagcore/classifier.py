"""What is stored of a classifier: the model, the names of its columns and how they are scaled, in one folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagcore.class_model import ClassModel
from tagcore.corpus import names_table
from tagcore.features.class_split import Scaling
from tagcore.store.datasets import Dataset, write_dataset


@dataclass(frozen=True, eq=False)
class Classifier:
    """Rows of numbers in, as they are in the table that it learnt from; names of classes out.

    >>> from tagcore.baselines import GPLA
    >>> X, y = np.array([[100.0], [102.0], [200.0], [203.0]]), ["low", "low", "high", "high"]
    >>> scaling = Scaling.of(X)
    >>> Classifier(GPLA().fit(scaling.apply(X), y), ["size"], scaling).predict([[98.0], [210.0]]).tolist()
    ['low', 'high']
    """

    model: ClassModel
    columns: list[str]
    scaling: Scaling

    def __post_init__(self) -> None:
        sizes = len(self.columns), self.scaling.means.size, self.scaling.deviations.size
        if sizes != (self.model.n_features_in_,) * 3:
            raise ValueError(f"{sizes} names, means and deviations, the model has {self.model.n_features_in_} columns")
        if not np.isfinite(self.scaling.means).all() or not (self.scaling.deviations > 0).all():
            raise ValueError("columns are scaled by numbers that are none, expected finite means, deviations above 0")

    def predict(self, rows: Any) -> np.ndarray:
        """The likeliest class of every row."""
        return self.model.predict(self.scaling.apply(np.asarray(rows, np.float64)))

    def predict_proba(self, rows: Any) -> np.ndarray:
        """Probabilities (n × C), in the order of the model's classes."""
        return self.model.predict_proba(self.scaling.apply(np.asarray(rows, np.float64)))

    def save(self, folder: Path | str, **manifest: dict) -> None:
        """Fills a folder that must not stand yet; `manifest` are the parameters and inputs it was made from."""
        with write_dataset(folder, "classifier", **manifest) as writer:
            self.model.save(writer.folder / "model")
            writer.append("columns", names_table(self.columns))
            writer.append("scaling", self.scaling.table())

    @classmethod
    def load(cls, folder: Path | str) -> "Classifier":
        """The stored classifier; ValueError says what is wrong with a folder that holds none."""
        data = Dataset.open(folder, "classifier")
        model = ClassModel.load(data.folder / "model")
        return cls(model, data.names("columns"), Scaling.from_table(data.read("scaling")))
