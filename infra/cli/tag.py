"""`tagflow tag`: tags for a text, a file of any size and known format, or standard input."""

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infra.cli.console import Console
from infra.cli.options import HomeOption

if TYPE_CHECKING:
    from infra.cli.input_texts import Batch
    from infra.cli.tagged_output import Output, Tagged
    from tagcore.corpus import Document
    from tagcore.tagger import Suggestion, Tagger

_SECONDS_LIVE, _SECONDS = 2.0, 30.0  # between two lines of progress, at a terminal and elsewhere


def tag(
    text: Annotated[list[str] | None, typer.Argument(help="The text; several arguments are several texts.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="A file of one text a line, or of any known format; - is standard input."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="The file's format: lines, jsonl, csv, ... (default: by its name and beginning).")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="An option of the format, such as text=body. Repeatable.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="The file is one text, not one text a line.")] = False,
    into: Annotated[
        Path | None, typer.Option(help="Write ids and tags into this file: .jsonl (JSON lines) or .parquet.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="A model folder, or an address such as models:/demo@champion.")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many tags.", min=1)] = 5,
    label: Annotated[
        bool,
        typer.Option(
            "--label", help="As many tags as fit: those above the model's thresholds, or more likely than not."
        ),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="For each tag, the words that pushed it up or down, and how surely.")
    ] = False,
    min_confidence: Annotated[
        float,
        typer.Option(
            "--min-confidence", help="Leave out tags less likely than this; a text may so get none.", min=0.0, max=1.0
        ),
    ] = 0.0,
    words: Annotated[int, typer.Option("--words", help="How many words --explain shows.", min=1)] = 8,
    home: HomeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a text.")] = False,
) -> None:
    """Suggest tags, best first, each with its score. Without a text, reads standard input.

    The score is the probability that the tag is right where the model is calibrated, as those of a recipe are unless
    told otherwise; of any other model it only ranks, and a line says so.

    With `--min-confidence` the command abstains where it is not sure: tags with a lower score are left out, and how
    many texts so got none is told; their JSON lines say `abstained`.

    Files are read in any size: texts keep their order and ids, a blank text keeps its place and gets no tags. JSON
    lines and tables need `text` or `title`, or what the model was taught to read instead: a model of named fields
    reads those. Other formats are those of `tagflow ingest`.

    `--explain` shows, for every tag, what each word of the text did to its score: a push up or down, and ± one
    standard deviation of it where the model knows how sure it is. "(always)" is what the tag gets from any text. A
    model of topics also tells which topic the text belongs to, and what each word did to ln (its probability / that of
    the next topic). Where no word decided, a line says why. A blend tells what each of its members says of the tag, and
    what the words did to the score of the first of them that can tell.
    """
    from tagcore.inference_only import serve_only

    serve_only()  # before models are imported
    from infra.cli.explanation import cannot_explain
    from infra.cli.input_texts import open_texts
    from infra.cli.tagged_output import JsonLines, Lines, open_output, require_form
    from infra.cli.values import parse_pairs

    if into is not None:
        require_form(into, explain)
    console = Console(as_json)
    options = parse_pairs(option)
    named = options.pop("format", None)
    with open_texts(text, file, format or named, whole, options) as texts:
        tagger = load_tagger(model, home)
        if explain and not hasattr(tagger.model, "explain"):
            console.say(cannot_explain(tagger))
            explain = False
        if not tagger.calibrated:
            name = type(tagger.model).__name__
            console.say(f"scores are {name}'s own and not calibrated: they rank tags and are no probabilities")
            if min_confidence > 0:
                console.say("--min-confidence compares these scores: train the model in a recipe, which calibrates it")
        ids = text is None and not whole
        to_terminal: Output = Lines(sys.stdout, texts.named, words)
        if as_json:
            to_terminal = JsonLines(sys.stdout, ids, words, tagger.calibrated)
        job = _Job(console, tagger, None if label else k, explain, min_confidence)
        with nullcontext(to_terminal) if into is None else open_output(into, words, tagger.calibrated) as out:
            for batch in texts.batches(tagger.fields):
                out.write(job.tag(batch))
            job.require_texts(str(file or "-"))
    job.tell_end(into)


class _Job:
    """Tags batch after batch, and keeps count of what a person should know at the end."""

    def __init__(
        self, console: Console, tagger: "Tagger", k: int | None, explain: bool, min_confidence: float = 0.0
    ) -> None:
        self._console, self._tagger, self._k, self._explain = console, tagger, k, explain
        self._min_confidence = min_confidence
        self._begun = self._told = time.monotonic()
        self._word_columns: Any = None
        self.done = self.blank = self.unknown = self.abstained = 0
        self._best_left_out: Suggestion | None = None

    def tag(self, batch: "Batch") -> list["Tagged"]:
        """Tags the texts of a batch; blank ones get no tags."""
        import numpy as np

        from infra.cli.tagged_output import Tagged

        tagger = self._tagger
        if batch.texts is not None:
            rows, written = tagger.rows(batch.texts), [_is_written(text) for text in batch.texts]
        else:
            assert batch.counts is not None
            rows, written = self._counted_rows(batch), (np.diff(batch.counts.indptr) > 0).tolist()
        suggested = tagger.label_rows(rows) if self._k is None else tagger.suggest_rows(rows, self._k)
        known = np.diff(rows.indptr).tolist()
        tagged = []
        for number, id_ in enumerate(batch.ids):
            suggestions, abstained = self._sure_enough(suggested[number]) if written[number] else ([], False)
            row = rows[number] if self._explain else None
            why = {s.tag: tagger.explain_row(row, s.tag) for s in suggestions} if self._explain else {}
            topic = tagger.explain_topic_row(row) if self._explain and suggestions else None
            voices = {s.tag: tagger.voices_row(row, s.tag) for s in suggestions} if self._explain else {}
            tagged.append(Tagged(id_, suggestions, known[number], why, topic, voices, abstained))
        self.done += len(tagged)
        self.blank += written.count(False)
        self.unknown += sum(w and not n for w, n in zip(written, known, strict=True))
        self._tell_progress()
        return tagged

    def _sure_enough(self, suggestions: list["Suggestion"]) -> tuple[list["Suggestion"], bool]:
        """(the suggestions that are likely enough, whether there were any and none is)."""
        sure = [s for s in suggestions if s.score >= self._min_confidence]
        abstained = bool(suggestions) and not sure
        if abstained:
            self.abstained += 1
            self._best_left_out = max(suggestions, key=lambda s: s.score)
        return sure, abstained

    def _counted_rows(self, batch: "Batch") -> Any:
        """Rows of counted words; a source may get to know more words on its way."""
        assert batch.counts is not None
        assert batch.words is not None
        if self._word_columns is None or self._word_columns.shape[0] < len(batch.words):
            self._word_columns = self._tagger.word_columns(batch.words)
        columns = self._word_columns[: batch.counts.shape[1]]
        return self._tagger.vectoriser.transform_counts(batch.counts @ columns)

    def require_texts(self, name: str) -> None:
        """Raises where there was nothing to tag."""
        if self.done == self.blank:
            raise ValueError(f"{name}: holds no text")

    def tell_end(self, into: Path | None) -> None:
        """Says how many texts were tagged, how many of them the model knows nothing of, and how many got no tag."""
        from infra.cli.explanation import one_line

        if self.unknown:
            given = "the model's fallback" if self._tagger.tag_shares is None else "the most popular tags"
            if self.done == 1:
                self._console.say(f"no word of this text is known: it gets {given}")
            else:
                self._console.say(f"{self.unknown:,} of {self.done:,} texts have no known word: they get {given}")
        if self.abstained:
            best, least = self._best_left_out, f"{self._min_confidence:g}"
            if self.done == 1 and best:
                self._console.say(
                    f"abstained: the likeliest tag, {one_line(best.tag)} {best.score:.3f}, is below {least}"
                )
            else:
                self._console.say(
                    f"abstained from {self.abstained:,} of {self.done:,} texts: no tag of theirs has {least}"
                )
        if into is not None or self._told != self._begun:
            self._console.say(f"{self._line()}{f', into {into}' if into else ''}")

    def _tell_progress(self) -> None:
        every = _SECONDS_LIVE if self._console.live else _SECONDS
        if time.monotonic() - self._told >= every:
            self._told = time.monotonic()
            self._console.say(f"… {self._line()}")

    def _line(self) -> str:
        seconds = max(time.monotonic() - self._begun, 1e-3)
        return f"{self.done:,} texts in {seconds:.1f} s, {self.done / seconds:,.0f} a second"


def _is_written(text: "Document") -> bool:
    return bool(text.strip() if isinstance(text, str) else any(field.strip() for field in text.values()))


def load_tagger(model: str | None, home: Path | None) -> "Tagger":
    """From a folder, a registry address, or the one champion of the state folder's registry."""
    from infra.cli.fewer_imports import import_less
    from infra.cli.model_folder import served_folder
    from tagcore.store.datasets import MANIFEST, Dataset

    folder = served_folder(model, home, "model")
    import_less()  # not before: MLflow may have been asked, which does need it
    is_stored = (folder / MANIFEST).is_file()  # if not, loading says what it is instead
    with Dataset.open_and_verify_beside(folder, "model") if is_stored else nullcontext():  # while imports take as long
        from tagcore.tagger import Tagger

        return Tagger.load(folder, mapped=True, verify=False)
