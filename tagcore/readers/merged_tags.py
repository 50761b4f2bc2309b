"""Spellings of one tag merged by rule: case, separators, plurals, British and American; and lists of tags to keep."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.corpus import Block, DocumentSource, Names
from tagcore.store.schemas import TAGGINGS

Rule = Literal["case", "separators", "plurals", "spelling"]
RULES: tuple[Rule, ...] = get_args(Rule)

_SEPARATORS = re.compile(r"[\s_-]+")
_WORD = re.compile(r"[^\W\d_]+")
# words that end as plurals do and are none
_SINGULAR = re.compile(r"(?:ss|us|is|ics|news|lens|series|species|always|gas|chaos|atlas|canvas|bias|texas|paris)$")
_SPELLINGS = (
    (re.compile(r"^(.+)isation$"), r"\1ization"),
    (re.compile(r"^(.{3,})is(e|ed|ing|er)$"), r"\1iz\2"),
    (re.compile(r"^(.+)yse$"), r"\1yze"),
    (re.compile(r"^(.{2,})ogue$"), r"\1og"),
    (re.compile(r"^(cent|theat|fib|met|lit)re$"), r"\1er"),
    (
        re.compile(r"^(arm|behavi|col|end?eav|fav|flav|harb|hon|hum|lab|neighb|od|parl|rum|sav|vap|vig)our(.*)$"),
        r"\1or\2",
    ),
    (re.compile(r"^(travel|model|cancel|label|level|signal)l(ed|ing|er)$"), r"\1\2"),
    (re.compile(r"^grey(.*)$"), r"gray\1"),
    (re.compile(r"^(jewel)lery$"), r"\1ry"),
    (re.compile(r"^aluminium$"), "aluminum"),
    (re.compile(r"^programme$"), "program"),
)


def tag_key(tag: str, rules: Sequence[Rule] = RULES) -> str:
    """Gives what spellings of one tag have in common; it is compared, never shown.

    >>> tag_key("Machine Learning") == tag_key("machine-learning") == tag_key("machinelearnings")
    True
    >>> tag_key("Colours"), tag_key("color"), tag_key("news"), tag_key("c++")
    ('color', 'color', 'news', 'c++')
    """
    key = tag.casefold() if "case" in rules else tag
    if "plurals" in rules or "spelling" in rules:
        key = _WORD.sub(lambda word: _changed(word[0], rules), key)
    return _SEPARATORS.sub("", key) or key if "separators" in rules else key


class MergedTags:
    """Documents of a source with the spellings of a tag as one; it is called as it is spelt most often.

    `include` are the only tags to keep, where there are any, `exclude` those to leave out; both in any spelling. A
    person who gave a document two spellings gave one tag; counts without a person are added.
    """

    def __init__(
        self, source: DocumentSource, rules: Sequence[Rule], include: Sequence[str] = (), exclude: Sequence[str] = ()
    ) -> None:
        self.source, self.rules = source, tuple(rules)
        self._include = {tag_key(tag, rules) for tag in include}
        self._exclude = {tag_key(tag, rules) for tag in exclude}
        self._clear()

    @property
    def words(self) -> Names | None:
        return self.source.words

    @property
    def tags(self) -> Names:
        """Every tag by its most frequent spelling, of equally frequent ones the first."""
        return Names(spellings.most_common(1)[0][0] for spellings in self._spellings)

    @property
    def merges(self) -> dict[str, dict[str, int]]:
        """Every merge: name -> how often each of its spellings was given."""
        named = zip(self.tags, self._spellings, strict=True)
        return {name: dict(spellings.most_common()) for name, spellings in named if len(spellings) > 1}

    @property
    def left_out(self) -> list[str]:
        """Tags that the lists leave out."""
        return list(self._left_out)

    def blocks(self, rows: int = 8192) -> Iterator[Block]:
        """Reads the documents, `rows` at a time."""
        self._clear()
        for block in self.source.blocks(rows):
            names = list(self.source.tags)
            given = block.taggings["tag"].to_numpy()
            numbers = np.full(len(names), -1, np.int64)
            for tag in np.unique(given).tolist():  # in the order of the source, so that ids only append
                numbers[tag] = self._number(names[tag])
            for tag, times in zip(*np.unique(given, return_counts=True), strict=True):
                if numbers[tag] >= 0:
                    self._spellings[numbers[tag]][names[tag]] += int(times)
            yield Block(block.documents, _merged(block.taggings, numbers[given]), block.words, block.fields)

    def _clear(self) -> None:
        self._keys = Names()
        self._spellings: list[Counter[str]] = []
        self._left_out: dict[str, None] = {}

    def _number(self, tag: str) -> int:
        key = tag_key(tag, self.rules)
        if key in self._exclude or (self._include and key not in self._include):
            self._left_out[tag] = None
            return -1
        number = self._keys.id(key)
        if number == len(self._spellings):
            self._spellings.append(Counter())
        return number


def _changed(word: str, rules: Sequence[Rule]) -> str:
    if "plurals" in rules:
        word = _singular(word)
    if "spelling" in rules:
        for pattern, instead in _SPELLINGS:
            word = pattern.sub(instead, word)
    return word


def _singular(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or _SINGULAR.search(word):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(?:[sxz]|ch|sh)es$", word):
        return word[:-2]
    return word[:-1]


def _merged(taggings: pa.Table, numbers: np.ndarray) -> pa.Table:
    """The taggings under their new numbers, each once for a person."""
    kept = taggings.set_column(1, TAGGINGS.field("tag"), pa.array(numbers, pa.int32())).filter(pa.array(numbers >= 0))
    same = kept.group_by(["document", "tag", "user"]).aggregate([("count", "sum"), ("count", "max"), ("time", "min")])
    count = pc.if_else(pc.is_null(same["user"]), same["count_sum"], same["count_max"])
    columns = {"document": same["document"], "tag": same["tag"], "user": same["user"], "count": count}
    table = pa.table([*columns.values(), same["time_min"]], schema=TAGGINGS)
    order = [("document", "ascending"), ("tag", "ascending"), ("user", "ascending")]
    return table.take(pc.sort_indices(table, order))
