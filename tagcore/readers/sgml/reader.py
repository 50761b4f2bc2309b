"""Reuters-21578: news stories in SGML, `<REUTERS ...> ... </REUTERS>` one after the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tagcore.corpus import Block
from tagcore.readers.bad_rows import BadValue
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile, ReadLimits, read_chunks, too_long
from tagcore.readers.records import BlockBuilder
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


class _RawStory(NamedTuple):
    """Bytes of a story; or of something that is none, where `flaw` says what was expected."""

    line: int
    raw: bytes
    flaw: str | None = None


class Sgml(Source):
    """The id of a story is its NEWID, its date, when it was tagged too, counts as UTC. Bytes are read as Latin-1."""

    format = "sgml"
    Options = SgmlOptions

    def _raw_blocks(self) -> Iterator[Block]:
        shared = self._shared_tags() if self.options.subset == "shared" else None
        ids = DocumentIds(self.files)
        for number, file in enumerate(self.files):
            rows = BlockBuilder(self.tags, ids, number, file.split, self._id_prefix(file))
            for raw_story in _raw_stories(file, self.options):
                try:
                    self._add(rows, raw_story, shared)
                except BadValue as error:
                    self._rejected_rows.add(file.name, raw_story.line, error.value, error.expected, raw_story.raw)
                if len(rows) == _PART:
                    yield rows.block(html=False)
            if rows:
                yield rows.block(html=False)

    def _add(self, rows: BlockBuilder, raw_story: _RawStory, shared: set[str] | None) -> None:
        if raw_story.flaw:
            raise BadValue(raw_story.raw[:200].decode("latin-1"), raw_story.flaw)
        story = raw_story.raw.decode("latin-1")
        attributes = sgml_story.attributes(story)
        part = sgml_story.part(attributes, self.options.split)
        if part is None and self.options.unused == "drop":
            return
        record = sgml_story.record(story, attributes, self.options.field)
        tags = [tag for tag in dict.fromkeys(record["tags"]) if shared is None or tag in shared]
        if tags or self.options.subset == "all":
            tagged = [{"tag": tag, "time": record["fetched_at"]} for tag in tags]
            rows.add(raw_story.line, {**record, "tags": tagged, "split": part})

    def _shared_tags(self) -> set[str]:
        """Collects the tags that stories of both parts have, in a pass of its own."""
        seen: dict[str | None, set[str]] = {"train": set(), "test": set(), None: set()}
        for file in self.files:
            for raw_story in _raw_stories(file, self.options):
                story = raw_story.raw.decode("latin-1")
                try:
                    part = sgml_story.part(sgml_story.attributes(story), self.options.split)
                    seen[part].update(sgml_story.tags(story, self.options.field))
                except BadValue:
                    continue  # the pass that reads the documents says so
        return seen["train"] & seen["test"]


def _raw_stories(file: InputFile, limits: ReadLimits) -> Iterator[_RawStory]:
    """Cuts the file after every </REUTERS>, so that no more than one story is in memory."""
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


def _stories(raw: bytes, line: int, limits: ReadLimits) -> Iterator[_RawStory]:
    """Cuts what stands up to one </REUTERS>, or up to the end of the file: one story if all is well."""
    before, *stories = raw.split(_BEGIN)
    text = before.strip()
    if text and not _is_doctype(text):
        blank = before.count(b"\n", 0, before.index(text))
        yield _RawStory(line + blank, text, "stories from <REUTERS ...> to </REUTERS>, and nothing between them")
    line += before.count(b"\n")
    for rest in stories:
        story = _BEGIN + rest
        if len(story) > limits.row_bytes:
            yield _RawStory(line, story, too_long(limits.row_bytes))
        else:
            yield _RawStory(line, story, None if story.endswith(_END) else "</REUTERS> after the story: cut off?")
        line += story.count(b"\n")


def _is_doctype(text: bytes) -> bool:
    """Says whether it is a document type without declarations of its own."""
    return text.upper().startswith(b"<!DOCTYPE") and text.find(b">") == len(text) - 1
