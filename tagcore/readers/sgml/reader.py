"""Reuters-21578: news stories in SGML, `<REUTERS ...> ... </REUTERS>` one after the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tagcore.corpus import Block
from tagcore.readers.documents import DocumentRows, Ids
from tagcore.readers.files import InputFile, ReadLimits, read_chunks, too_long
from tagcore.readers.rejects import Unexpected
from tagcore.readers.sgml import story as sgml_story
from tagcore.readers.sgml.story import FIELDS, SPLITS
from tagcore.readers.source import Source

_BEGIN, _END = b"<REUTERS", b"</REUTERS>"
_PART = 2048  # stories
_UNUSED = ("drop", "keep")
_SUBSETS = ("all", "tagged", "shared")


@dataclass(frozen=True, kw_only=True)
class SgmlOptions(ReadLimits):
    """`field`: which categories are the tags. `split`: modapte, modlewis or modhayes.

    `unused`: whether stories outside the split are dropped, or kept without a part, so that only a drawn split is
    left. `subset`: all stories (9,603 and 3,299 in ModApte, 1,828 and 280 of them without a topic); only those tagged;
    or only the tags shared by train and test and the stories that have one (7,770 and 3,019, the papers' 90 topics).
    """

    field: str = "topics"
    split: str = "modapte"
    unused: str = "drop"
    subset: str = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        known = {"field": FIELDS, "split": tuple(SPLITS), "unused": _UNUSED, "subset": _SUBSETS}
        for name, values in known.items():
            if getattr(self, name) not in values:
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected one of {', '.join(values)}")


class _Piece(NamedTuple):
    """A story, or where `flaw` says what was expected, something that is none."""

    line: int
    raw: bytes
    flaw: str | None = None


class Sgml(Source):
    """The id of a story is its NEWID, its date counts as UTC. Bytes are read as Latin-1."""

    format = "sgml"
    Options = SgmlOptions

    def _parts(self) -> Iterator[Block]:
        shared = self._shared_tags() if self.options.subset == "shared" else None
        ids = Ids(self.files)
        for number, file in enumerate(self.files):
            rows = DocumentRows(self.tags, ids, number, file.split, self._id_prefix(file))
            for piece in _pieces(file, self.options):
                try:
                    self._add(rows, piece, shared)
                except Unexpected as error:
                    self._rejects.add(file.name, piece.line, error.value, error.expected, piece.raw)
                if len(rows) == _PART:
                    yield rows.block(html=False)
            if rows:
                yield rows.block(html=False)

    def _add(self, rows: DocumentRows, piece: _Piece, shared: set[str] | None) -> None:
        if piece.flaw:
            raise Unexpected(piece.raw[:200].decode("latin-1"), piece.flaw)
        story = piece.raw.decode("latin-1")
        found = sgml_story.attributes(story)
        part = sgml_story.part(found, self.options.split)
        if part is None and self.options.unused == "drop":
            return
        record = sgml_story.record(story, found, self.options.field)
        if shared is not None:
            record["tags"] = [tag for tag in record["tags"] if tag in shared]
        if record["tags"] or self.options.subset == "all":
            rows.add(piece.line, {**record, "split": part})

    def _shared_tags(self) -> set[str]:
        """Tags that stories of both parts have, by a pass of its own."""
        seen: dict[str | None, set[str]] = {"train": set(), "test": set(), None: set()}
        for file in self.files:
            for piece in _pieces(file, self.options):
                story = piece.raw.decode("latin-1")
                try:
                    part = sgml_story.part(sgml_story.attributes(story), self.options.split)
                    seen[part].update(sgml_story.tags(story, self.options.field))
                except Unexpected:
                    continue  # the pass that reads the documents says so
        return seen["train"] & seen["test"]


def _pieces(file: InputFile, limits: ReadLimits) -> Iterator[_Piece]:
    """The file cut after every </REUTERS>, so that no more than one story is in memory."""
    held, line, skipping = b"", 1, False
    for data in read_chunks(file, limits):
        held += data
        start = 0
        while (end := held.find(_END, start)) >= 0:
            end += len(_END)
            raw = held[start:end]
            if not skipping:
                yield from _stories(raw, line, limits)
            line, start, skipping = line + raw.count(b"\n"), end, False
        held = held[start:]
        if len(held) > limits.row_bytes:
            if not skipping:
                yield from _stories(held, line, limits)
            keep = len(held) - len(_END)  # the end may stand across two chunks
            line, held, skipping = line + held.count(b"\n", 0, keep), held[keep:], True
    if not skipping:
        yield from _stories(held, line, limits)


def _stories(raw: bytes, line: int, limits: ReadLimits) -> Iterator[_Piece]:
    """What stands up to one </REUTERS>, or up to the end of the file: one story if all is well."""
    before, *stories = raw.split(_BEGIN)
    text = before.strip()
    if text and not _is_doctype(text):
        blank = before.count(b"\n", 0, before.index(text))
        yield _Piece(line + blank, text, "stories from <REUTERS ...> to </REUTERS>, and nothing between them")
    line += before.count(b"\n")
    for rest in stories:
        story = _BEGIN + rest
        if len(story) > limits.row_bytes:
            yield _Piece(line, story, too_long(limits.row_bytes))
        else:
            yield _Piece(line, story, None if story.endswith(_END) else "</REUTERS> after the story: cut off?")
        line += story.count(b"\n")


def _is_doctype(text: bytes) -> bool:
    """One without declarations of its own."""
    return text.upper().startswith(b"<!DOCTYPE") and text.find(b">") == len(text) - 1
