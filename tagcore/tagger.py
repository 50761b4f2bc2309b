"""What is stored and served: vectoriser, model, tag names, calibrator, thresholds in one folder; raw text goes in."""

import json
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load_file

from tagcore.base import best_k
from tagcore.corpus import Document, Names, names_table
from tagcore.labelling.thresholds import load_thresholds, require_thresholds, save_thresholds
from tagcore.scoring.calibration import CALIBRATORS, Calibrator
from tagcore.scoring.explanation import NamedTopic, WordPush, pushes
from tagcore.store.array_file import write_array_file
from tagcore.store.datasets import MANIFEST, Dataset, StoreError, write_dataset
from tagcore.tag_model import TagModel
from tagcore.text import Vectoriser
from tagcore.text.document_fields import TITLE, URL, USUAL, fields_of, require_several
from tagcore.text.html import strip_html, strip_html_of_title
from tagcore.text.joined import JoinedVectoriser

if TYPE_CHECKING:
    from tagcore.labelling.expected_f import ExpectedF

HEAD = "tagger.json"
_MOST_VIEWS = 16  # as many as a blend has members
CALIBRATOR, THRESHOLDS, SHARES = "calibrator.safetensors", "thresholds.safetensors", "tag_shares.safetensors"


class Suggestion(NamedTuple):
    """A tag and its score: the probability that it is right where the tagger is calibrated, else the model's own."""

    tag: str
    score: float


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

    vectoriser: Vectoriser | JoinedVectoriser
    model: TagModel
    tag_names: list[str]
    calibrator: Calibrator | None = None
    thresholds: np.ndarray | None = None  # a tag is given to a text whose score lies above its own
    tag_shares: np.ndarray | None = None  # of the training documents: what a text without a known word gets

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
        if self.tag_shares is not None:
            _require_shares(self.tag_shares, self.model.n_labels_)

    @property
    def calibrated(self) -> bool:
        """Whether the scores of suggestions are probabilities of being right, learnt on documents not trained on."""
        return self.calibrator is not None or self.model.gives_probabilities

    def suggest(self, texts: Iterable[Document], k: int = 5) -> list[list[Suggestion]]:
        """The k best tags of every text, best first. A text without a known word gets the most popular tags.

        A text may come as its fields, such as `{"title": …, "text": …}`.
        """
        return self.suggest_rows(self.rows(texts), k)

    def label(self, texts: Iterable[Document]) -> list[list[Suggestion]]:
        """Every tag whose score is above its threshold, most probable first; without thresholds, those above 1/2. A
        text without a known word gets the tags that more than half of the training documents have."""
        return self.label_rows(self.rows(texts))

    def suggest_rows(self, rows: sp.csr_matrix, k: int = 5) -> list[list[Suggestion]]:
        """As `suggest`, of the `rows` of texts."""
        if not rows.shape[0]:  # which no model takes
            return []
        tags, scores = self.top_k(rows, k)
        scores = self.proba(scores, tags)
        if self.tag_shares is not None:
            wordless = np.diff(rows.indptr) == 0
            tags[wordless], scores[wordless] = best_k(self.tag_shares[None], k)
        names = self.tag_names
        return [
            [Suggestion(names[t], s) for t, s in zip(*pair, strict=True)]
            for pair in zip(tags.tolist(), scores.tolist(), strict=True)
        ]

    def label_rows(self, rows: sp.csr_matrix) -> list[list[Suggestion]]:
        """As `label`, of the `rows` of texts."""
        labelled: list[list[Suggestion]] = []
        if not rows.shape[0]:
            return labelled
        wordless = np.diff(rows.indptr) == 0
        for block, scores in self.score_blocks(rows):
            probabilities = self.proba(scores)
            given = probabilities > 0.5 if self.thresholds is None else scores > self.thresholds
            if self.tag_shares is not None:
                unknown = wordless[block]
                probabilities[unknown], scores[unknown] = self.tag_shares, self.tag_shares
                given[unknown] = self.tag_shares > 0.5
            for row in range(len(scores)):
                tags = np.flatnonzero(given[row])
                tags = tags[np.argsort(-scores[row, tags], kind="stable")]
                labelled.append([Suggestion(self.tag_names[t], float(probabilities[row, t])) for t in tags])
        return labelled

    def explain(self, text: Document, tag: str) -> list[WordPush] | None:
        """What each known word of the text did to the score of the tag, strongest first; None where the model cannot
        tell. The push of no word (`word` is None) is the tag's own, whatever the text."""
        return self.explain_row(self.rows([text]), tag)

    def explain_row(self, row: sp.csr_matrix, tag: str) -> list[WordPush] | None:
        """As `explain`, of the one row of a text."""
        if tag not in self.tag_names:
            raise ValueError(f"no tag {tag!r}: it is none of the {len(self.tag_names)} that this model knows")
        explain = getattr(self.model, "explain", None)
        explanation = None if explain is None else explain(row, self.tag_names.index(tag))
        return None if explanation is None else pushes(explanation, self.vectoriser.terms_)

    def voices_row(self, row: sp.csr_matrix, tag: str) -> list[Any]:
        """What each member of a blend says of the tag for the one row of a text: `Voice`s; none of other models."""
        voices = getattr(self.model, "voices", None)
        return [] if voices is None else voices(row, self.tag_names.index(tag))

    def explain_topic_row(self, row: sp.csr_matrix) -> NamedTopic | None:
        """The topic that the one row of a text belongs to, and the words that made it so; None without topics."""
        explain = getattr(self.model, "explain_topic", None)
        if explain is None:
            return None
        choice = explain(row)
        tags = [self.tag_names[tag] for tag in choice.tags]
        words = pushes(choice, self.vectoriser.terms_)
        return NamedTopic(choice.topic, choice.probability, choice.runner_up, tags, words, choice.fallback)

    def top_k(self, rows: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The model's own ranking and scores."""
        return self.model.top_k(rows, k)

    def score_blocks(self, rows: sp.csr_matrix) -> Iterator[tuple[slice, np.ndarray]]:
        return self.model.score_blocks(rows)

    def proba(self, scores: np.ndarray, tags: np.ndarray | None = None) -> np.ndarray:
        """Scores as the calibrator's probabilities of being right; without one as the model's own, which rise with the
        score and promise nothing. `tags` are those of the scores, whose columns are all tags in order without them."""
        return self.calibrator(scores, tags) if self.calibrator else self.model.proba(scores)

    def expected_f(self, rows: Any) -> "ExpectedF | None":
        """The model's `ExpectedF` on rows or their `ShardedScores`; None where it has no uncertainty to sample from."""
        sampled = getattr(self.model, "expected_f", None)
        return None if sampled is None else sampled(rows)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a document that are read."""
        return self.vectoriser.field_names or USUAL

    def rows(self, texts: Iterable[Document]) -> sp.csr_matrix:
        """The texts as the model reads them: one row of word weights each; markup is left out."""
        if isinstance(texts, str | bytes):
            raise ValueError(f"texts is the one string {reprlib.repr(texts)}, expected a list of texts, such as [text]")
        require_several(texts)
        texts = list(texts)
        for number, text in enumerate(texts):
            if not isinstance(text, str | Mapping):
                raise ValueError(f"text {number} is {reprlib.repr(text)}, expected a string, or texts by field")
        return self.vectoriser.transform([self._without_markup(text, number) for number, text in enumerate(texts)])

    def _without_markup(self, text: Document, number: int) -> Document:
        if isinstance(text, str):
            return strip_html(text)
        fields = fields_of(text, self.vectoriser.field_names, f"text {number}")
        strip: dict[str, Callable[[str], str]] = {URL: str, TITLE: strip_html_of_title}
        return {name: strip.get(name, strip_html)(value) for name, value in fields.items()}

    def word_columns(self, words: Names) -> sp.csr_matrix:
        """Counted words of a source × the columns that the vectoriser takes, matched by the names of its terms."""
        vectoriser = self.vectoriser
        pairs = [
            (words.find(term), column) for term, column in zip(vectoriser.terms_, vectoriser.columns_, strict=True)
        ]
        rows, columns = np.array([p for p in pairs if p[0] is not None], int).reshape(-1, 2).T
        ones = np.ones(rows.size, np.float32)
        return sp.csr_matrix((ones, (rows, columns)), shape=(len(words), vectoriser.n_features_in_))

    def save(self, folder: Path | str, **manifest: dict) -> None:
        """A folder that must not stand yet; `manifest` are the parameters and inputs it was made from."""
        with write_dataset(folder, "model", **manifest) as writer:
            self.model.save(writer.folder / "model")
            for number, view in enumerate(self.vectoriser.views):
                view.save(writer.folder / _vectoriser_folder(number))
            writer.append("tags", names_table(self.tag_names))
            head = {
                "calibrator": self.calibrator.name if self.calibrator else None,
                "thresholds": self.thresholds is not None,
                "tag_shares": self.tag_shares is not None,
                "views": len(self.vectoriser.views),
            }
            if self.calibrator:
                write_array_file(writer.folder / CALIBRATOR, self.calibrator.to_arrays())
            if self.thresholds is not None:
                save_thresholds(self.thresholds, writer.folder / THRESHOLDS)
            if self.tag_shares is not None:
                write_array_file(writer.folder / SHARES, {"tag_shares": np.ascontiguousarray(self.tag_shares)})
            (writer.folder / HEAD).write_text(json.dumps(head), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str, mapped: bool = False, verify: bool = True) -> "Tagger":
        """The tagger that `save` stored; `mapped` is for a short use of its model, see `Estimator.load`; without
        `verify` the caller compares hashes, see `Dataset.open_and_verify_beside`."""
        if Path(folder, "model.json").is_file() and not Path(folder, MANIFEST).exists():
            raise StoreError(
                f"{folder}: holds a model alone, which knows neither words nor names of tags: read it with "
                "`load` of its class, or store it as `Tagger(vectoriser, model, tag_names).save(folder)` "
                "(from tagcore.tagger), which takes raw text"
            )
        data = Dataset.open(folder, "model", verify=verify)
        head = json.loads((data.folder / HEAD).read_text(encoding="utf-8"))
        name = head.get("calibrator")
        if name is not None and name not in CALIBRATORS:
            raise StoreError(
                f"{data.folder / HEAD}: unknown calibrator {name!r}, expected one of {sorted(CALIBRATORS)}"
            )
        arrays = load_file(data.folder / CALIBRATOR) if name else {}
        numbers = range(_count_views(head, data.folder / HEAD))
        views = [Vectoriser.load(data.folder / _vectoriser_folder(number)) for number in numbers]
        return cls(
            vectoriser=views[0] if len(views) == 1 else JoinedVectoriser(views),
            model=TagModel.load(data.folder / "model", mapped),
            tag_names=data.names("tags"),
            calibrator=CALIBRATORS[name].from_arrays(arrays) if name else None,
            thresholds=load_thresholds(data.folder / THRESHOLDS) if head.get("thresholds") else None,
            tag_shares=load_file(data.folder / SHARES)["tag_shares"] if head.get("tag_shares") else None,
        )


def _vectoriser_folder(number: int) -> str:
    """The folder of the vectoriser of one view; most taggers have one."""
    return f"vectoriser-{number}" if number else "vectoriser"


def _count_views(head: dict[str, Any], path: Path) -> int:
    views = head.get("views", 1)  # taggers stored before had one
    if type(views) is not int or not 1 <= views <= _MOST_VIEWS:
        raise StoreError(f"{path}: views is {views!r:.100}, expected a number from 1 to {_MOST_VIEWS}")
    return views


def _require_shares(shares: np.ndarray, tags: int) -> None:
    """Shares of documents, one for each tag."""
    if shares.shape != (tags,) or shares.dtype.kind != "f" or not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"tag_shares must be {tags} numbers from 0 to 1")
