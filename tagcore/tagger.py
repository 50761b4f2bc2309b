"""What is stored and served: vectoriser, model, tag names and calibrator in one folder, so that raw text goes in."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load_file, save_file

from tagcore.base import TagModel, load_estimator
from tagcore.calibration import CALIBRATORS, Calibrator
from tagcore.corpus import names_table
from tagcore.store import Dataset, StoreError, writing
from tagcore.text import Vectoriser, strip_html

HEAD = "tagger.json"


class Suggestion(NamedTuple):
    tag: str
    score: float  # the calibrated probability that the tag is right, where the tagger has a calibrator


@dataclass(frozen=True, eq=False)
class Tagger:
    """Raw text in, tags out.

    >>> from tagcore import load_model
    >>> load_model("model-folder").suggest(["a text that nobody tagged"], k=3)  # doctest: +SKIP
    [[Suggestion(tag='...', score=0.93), ...]]
    """

    vectoriser: Vectoriser
    model: TagModel
    tag_names: list[str]
    calibrator: Calibrator | None = None

    def __post_init__(self) -> None:
        words = len(self.vectoriser.idf_)
        if words != self.model.n_features_in_:
            raise ValueError(
                f"the vectoriser knows {words} words, the model was trained on {self.model.n_features_in_}"
            )
        if len(self.tag_names) != self.model.n_labels_:
            raise ValueError(f"{len(self.tag_names)} tag names, the model was trained on {self.model.n_labels_}")

    def suggest(self, texts: Sequence[str], k: int = 5) -> list[list[Suggestion]]:
        """The k best tags of every text, best first. A text without a known word gets what the model falls back on."""
        rows = self.vectoriser.transform([strip_html(text) for text in texts])
        tags, scores = self.top_k(rows, k)
        return [
            [Suggestion(self.tag_names[t], float(s)) for t, s in zip(*pair, strict=True)]
            for pair in zip(tags, self.proba(scores), strict=True)
        ]

    def top_k(self, rows: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The model's own ranking and scores."""
        return self.model.top_k(rows, k)

    def score_blocks(self, rows: sp.csr_matrix) -> Iterator[tuple[slice, np.ndarray]]:
        return self.model.score_blocks(rows)

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Scores as probabilities of being right: the calibrator's, or the model's own without one."""
        return self.calibrator(scores) if self.calibrator else self.model.proba(scores)

    def known_words(self, text: str) -> int:
        """How many different words of the text the vectoriser knows."""
        return int(self.vectoriser.transform([strip_html(text)]).nnz)

    def save(self, folder: Path | str, **manifest: dict) -> None:
        """A folder that must not stand yet; `manifest` are the parameters and inputs it was made from."""
        with writing(folder, "model", **manifest) as writer:
            self.model.save(writer.folder / "model")
            (writer.folder / "vectoriser").mkdir()
            self.vectoriser.save(writer.folder / "vectoriser")
            writer.append("tags", names_table(self.tag_names))
            head = {"calibrator": self.calibrator.name if self.calibrator else None}
            if self.calibrator:
                save_file(self.calibrator.to_arrays(), writer.folder / "calibrator.safetensors")
            (writer.folder / HEAD).write_text(json.dumps(head), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str) -> "Tagger":
        data = Dataset.open(folder, "model")
        head = json.loads((data.folder / HEAD).read_text(encoding="utf-8"))
        name = head.get("calibrator")
        if name is not None and name not in CALIBRATORS:
            raise StoreError(
                f"{data.folder / HEAD}: unknown calibrator {name!r}, expected one of {sorted(CALIBRATORS)}"
            )
        arrays = load_file(data.folder / "calibrator.safetensors") if name else {}
        return cls(
            vectoriser=Vectoriser.load(data.folder / "vectoriser"),
            model=load_estimator(data.folder / "model"),
            tag_names=data.names("tags"),
            calibrator=CALIBRATORS[name].from_arrays(arrays) if name else None,
        )
