"""Tagged texts on their way out: lines for people, JSON lines, parquet; a file takes its name when it is whole."""

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from infra.cli.explanation import explanation_data, one_line, show_explanation, topic_data
from infra.cli.into import require_place
from infra.cli.json_text import json_encoder

if TYPE_CHECKING:
    from tagcore.models.blend.estimator import Voice
    from tagcore.scoring.explanation import NamedTopic, WordPush
    from tagcore.tagger import Suggestion

JSON_ENDINGS, PARQUET = (".jsonl", ".ndjson"), ".parquet"
_SCHEMA = pa.schema(
    [("id", pa.string()), ("tags", pa.list_(pa.string())), ("scores", pa.list_(pa.float64())), ("known_words", "int64")]
)


class Tagged(NamedTuple):
    """One text: its tags, how many of its words the model knows, where that was asked for why it got each tag, its
    topic, and what the members of a blend said of each tag; and whether it got none because none was likely enough."""

    id: str
    suggestions: list["Suggestion"]
    known_words: int
    why: dict[str, list["WordPush"] | None]
    topic: "NamedTopic | None" = None
    voices: Mapping[str, list["Voice"]] = MappingProxyType({})
    abstained: bool = False


class Output(Protocol):
    """Where tagged texts go, some at a time."""

    def write(self, batch: list[Tagged]) -> None: ...


class Lines:
    """A line of tags for each text, with its id before them where the file has ids; explanations below."""

    def __init__(self, stream: IO[str], ids: bool, words: int) -> None:
        self._stream, self._ids, self._words = stream, ids, words

    def write(self, batch: list[Tagged]) -> None:
        for text in batch:
            cells = [one_line(text.id)] if self._ids else []
            cells += [f"{one_line(s.tag)} {s.score:.3f}" for s in text.suggestions]
            self._stream.write("\t".join(cells) + "\n")
            if text.why:
                self._stream.flush()
                show_explanation(text.why, self._words, text.topic, text.voices)
        self._stream.flush()


class JsonLines:
    """A JSON object for each text; `ids`: whether texts have any."""

    def __init__(self, stream: IO[str], ids: bool, words: int, calibrated: bool) -> None:
        self._stream, self._ids, self._words, self._calibrated = stream, ids, words, calibrated
        self._encode = json_encoder(stream)  # made once: json.dumps would make one for each text

    def write(self, batch: list[Tagged]) -> None:
        for text in batch:
            self._stream.write(self._encode(self._plain(text)) + "\n")
        self._stream.flush()

    def _plain(self, text: Tagged) -> dict[str, Any]:
        tags: list[dict[str, Any]] = [{"tag": s.tag, "score": round(s.score, 6)} for s in text.suggestions]
        for tag in tags if text.why else ():
            tag |= explanation_data(text.why.get(tag["tag"]), self._words)
            tag |= {"members": [v._asdict() for v in said]} if (said := text.voices.get(tag["tag"])) else {}
        head: dict[str, Any] = {"id": text.id} if self._ids else {}
        if text.topic is not None:
            head["topic"] = topic_data(text.topic, self._words)
        plain = {**head, "tags": tags, "known_words": text.known_words, "calibrated": self._calibrated}
        return plain | {"abstained": True} if text.abstained else plain


class Parquet:
    """A row for each text, a row group for each batch."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer

    def write(self, batch: list[Tagged]) -> None:
        columns: dict[str, list] = {
            "id": [text.id for text in batch],
            "tags": [[s.tag for s in text.suggestions] for text in batch],
            "scores": [[s.score for s in text.suggestions] for text in batch],
            "known_words": [text.known_words for text in batch],
        }
        self._writer.write_table(pa.table(columns, schema=self._writer.schema))


def require_form(path: Path, explain: bool) -> None:
    """Raises where a file cannot be written as its name says, before any work."""
    if path.suffix not in (*JSON_ENDINGS, PARQUET):
        raise ValueError(f"{path}: expected a name that ends in {', '.join(JSON_ENDINGS)} or {PARQUET}")
    if explain and path.suffix == PARQUET:
        raise ValueError(f"{path}: explanations are written as JSON lines, expected a name that ends in .jsonl")
    require_place(path)


@contextmanager
def open_output(path: Path, words: int, calibrated: bool) -> Iterator[Output]:
    """Writes a file in the form that its name tells; it stands when all is written, and not before."""
    filling = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        if path.suffix == PARQUET:
            schema = _SCHEMA.with_metadata({"calibrated": json.dumps(calibrated)})
            with pq.ParquetWriter(filling, schema, compression="zstd", compression_level=1) as writer:
                yield Parquet(writer)
        else:
            with open(filling, "w", encoding="utf-8") as stream:
                yield JsonLines(stream, True, words, calibrated)
        os.replace(filling, path)
    finally:
        filling.unlink(missing_ok=True)
