"""What is stored and served: vectoriser, model, tag names, calibrator, thresholds in one folder; raw text goes in."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load_file, save_file

from tagcore.corpus import names_table
from tagcore.labelling.expected_f import ExpectedF
from tagcore.labelling.thresholds import load_thresholds, require_thresholds, save_thresholds
from tagcore.scoring.calibration import CALIBRATORS, Calibrator
from tagcore.scoring.explanation import WordPush, pushes
from tagcore.store.datasets import Dataset, StoreError, write_dataset
from tagcore.tag_model import TagModel
from tagcore.text import Vectoriser
from tagcore.text.html import strip_html

HEAD = "tagger.json"
CALIBRATOR, THRESHOLDS = "calibrator.safetensors", "thresholds.safetensors"


class Suggestion(NamedTuple):
    tag: str
    score: float  # the calibrated probability that the tag is right, where the tagger has a calibrator


@dataclass(frozen=True, eq=False)
class Tagger:
    """Raw text in, tags out.

    >>> import tempfile
    >>> from tagcore import Corpus, load_model
    >>> from tagcore.baselines import KNN
    >>> texts = ["flour water yeast", "pedal chain tyre"]
    >>> corpus = Corpus.from_texts(texts, [["bread"], ["cycling"]])
    >>> vectoriser = Vectoriser()
    >>> model = KNN().fit(vectoriser.fit_transform(texts), corpus.tags)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Tagger(vectoriser, model, corpus.tag_names).save(Path(folder, "tagger"))
    ...     load_model(Path(folder, "tagger")).suggest(["a flat tyre"], k=1)
    [[Suggestion(tag='cycling', score=1.0)]]
    """

    vectoriser: Vectoriser
    model: TagModel
    tag_names: list[str]
    calibrator: Calibrator | None = None
    thresholds: np.ndarray | None = None  # a tag is given to a text whose score lies above its own

    def __post_init__(self) -> None:
        words = len(self.vectoriser.idf_)
        if words != self.model.n_features_in_:
            raise ValueError(
                f"the vectoriser knows {words} words, the model was trained on {self.model.n_features_in_}"
            )
        if len(self.tag_names) != self.model.n_labels_:
            raise ValueError(f"{len(self.tag_names)} tag names, the model was trained on {self.model.n_labels_}")
        if self.thresholds is not None:
            require_thresholds(self.thresholds, self.model.n_labels_)

    def suggest(self, texts: Sequence[str], k: int = 5) -> list[list[Suggestion]]:
        """The k best tags of every text, best first. A text without a known word gets what the model falls back on."""
        tags, scores = self.top_k(self._rows(texts), k)
        return [
            [Suggestion(self.tag_names[t], float(s)) for t, s in zip(*pair, strict=True)]
            for pair in zip(tags, self.proba(scores), strict=True)
        ]

    def label(self, texts: Sequence[str]) -> list[list[Suggestion]]:
        """Every tag whose score is above its threshold, most probable first; without thresholds, those above 1/2."""
        labelled = []
        for _, scores in self.score_blocks(self._rows(texts)):
            probabilities = self.proba(scores)
            given = probabilities > 0.5 if self.thresholds is None else scores > self.thresholds
            for row in range(len(scores)):
                tags = np.flatnonzero(given[row])
                tags = tags[np.argsort(-scores[row, tags], kind="stable")]
                labelled.append([Suggestion(self.tag_names[t], float(probabilities[row, t])) for t in tags])
        return labelled

    def explain(self, text: str, tag: str) -> list[WordPush] | None:
        """What each known word of the text did to the score of the tag, strongest first; None where the model cannot
        tell. The push of no word (`word` is None) is the tag's own, whatever the text."""
        if tag not in self.tag_names:
            raise ValueError(f"no tag {tag!r}: it is none of the {len(self.tag_names)} that this model knows")
        explain = getattr(self.model, "explain", None)
        if explain is None:
            return None
        return pushes(explain(self._rows([text]), self.tag_names.index(tag)), self.vectoriser.terms_)

    def top_k(self, rows: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The model's own ranking and scores."""
        return self.model.top_k(rows, k)

    def score_blocks(self, rows: sp.csr_matrix) -> Iterator[tuple[slice, np.ndarray]]:
        return self.model.score_blocks(rows)

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Scores as probabilities of being right: the calibrator's, or the model's own without one."""
        return self.calibrator(scores) if self.calibrator else self.model.proba(scores)

    def expected_f(self, rows: Any) -> ExpectedF | None:
        """The model's `ExpectedF` on rows or their `ShardedScores`; None where it has no uncertainty to sample from."""
        sampled = getattr(self.model, "expected_f", None)
        return None if sampled is None else sampled(rows)

    def known_words(self, text: str) -> int:
        """How many different words of the text the vectoriser knows."""
        return int(self._rows([text]).nnz)

    def save(self, folder: Path | str, **manifest: dict) -> None:
        """A folder that must not stand yet; `manifest` are the parameters and inputs it was made from."""
        with write_dataset(folder, "model", **manifest) as writer:
            self.model.save(writer.folder / "model")
            (writer.folder / "vectoriser").mkdir()
            self.vectoriser.save(writer.folder / "vectoriser")
            writer.append("tags", names_table(self.tag_names))
            head = {
                "calibrator": self.calibrator.name if self.calibrator else None,
                "thresholds": self.thresholds is not None,
            }
            if self.calibrator:
                save_file(self.calibrator.to_arrays(), writer.folder / CALIBRATOR)
            if self.thresholds is not None:
                save_thresholds(self.thresholds, writer.folder / THRESHOLDS)
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
        arrays = load_file(data.folder / CALIBRATOR) if name else {}
        return cls(
            vectoriser=Vectoriser.load(data.folder / "vectoriser"),
            model=TagModel.load(data.folder / "model"),
            tag_names=data.names("tags"),
            calibrator=CALIBRATORS[name].from_arrays(arrays) if name else None,
            thresholds=load_thresholds(data.folder / THRESHOLDS) if head.get("thresholds") else None,
        )

    def _rows(self, texts: Sequence[str]) -> sp.csr_matrix:
        return self.vectoriser.transform([strip_html(text) for text in texts])
