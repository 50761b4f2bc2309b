"""Ratings of a file or folder, with the tags that users gave and what items are called."""

import hashlib
import json
import math
from array import array
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tagcore.corpus import Names
from tagcore.ratings import Ratings, UserTaggings
from tagcore.readers.bad_rows import BadValue, ReadError, RejectedRows
from tagcore.readers.citeulike import read_libraries, read_paper_tags
from tagcore.readers.csv_table import CsvTable
from tagcore.readers.lengths import require_length
from tagcore.readers.ratings.cards import card_of
from tagcore.readers.ratings.files import TableFile, find_files
from tagcore.readers.ratings.options import COUNTS, MOVIE_STARS, MOVIES, RatingOptions
from tagcore.readers.ratings.plain_table import PlainTable
from tagcore.store.datasets import file_hash
from tagcore.store.schemas import ITEM_TAGS, RATINGS, USER_TAGGINGS
from tagcore.text.tag_names import plain_tag

_NO_GENRE = "(no genres listed)"


class RatingsSource:
    """The ratings of a file or folder: MovieLens (.csv, .dat, u.data), HetRec, CiteULike's libraries, or tables of
    user, item, rating and of user, item, tag, with or without a header.

    A time is a number of seconds since 1970 or ISO 8601 text, in UTC where it names no zone. Users and items that are
    only in the table of tags have a name, but no rating. Tags are lower-cased and their white space is evened out; a
    tagging that is there twice counts once. `rejected` is the number of rows that were left out, `rejected_lines`
    that of their lines, `remark` says how the files were understood.
    """

    def __init__(self, path: Path | str, **options: Any) -> None:
        self.options = RatingOptions.of(options)
        self.path = Path(path)
        self.files = find_files(self.path, self.options)
        self.rejected = self.rejected_lines = 0
        self.remark = ""

    def fingerprint(self) -> str:
        """Hashes everything that decides what reading gives: options and the bytes of all files."""
        paths = list(dict.fromkeys(table.file.path for table in self.files.tables))  # of a zip, one
        if self.files.libraries is not None:
            paths = sorted(self.files.libraries.parent.glob("*.dat*"))
        options = {name: value for name, value in asdict(self.options).items() if name not in ("taggings", "titles")}
        identity = ["ratings", options, [file_hash(path) for path in paths]]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

    def read(self, skip_bad_rows: Path | None = None) -> tuple[Ratings, UserTaggings | None]:
        """Reads everything into memory, rows in their order.

        The first bad row raises BadRow; with `skip_bad_rows` the bad rows go to that file and reading goes on.
        """
        if self.files.libraries is not None:
            return self._read_libraries(self.files.libraries)
        with RejectedRows(skip_bad_rows) as rejected:
            reading = _Reading(self.options, rejected)
            assert self.files.ratings is not None
            table = reading.ratings(self.files.ratings)
            named_tags = {} if self.files.tag_names is None else reading.tag_names(self.files.tag_names)
            triples = None if self.files.taggings is None else reading.taggings(self.files.taggings, named_tags)
            rated = table.num_rows and (len(np.unique(table["user"])), len(np.unique(table["item"])))
            titles = None if self.files.titles is None else reading.titles(self.files.titles)
            if self.files.genres is not None:
                reading.genres(self.files.genres)
            self.rejected, self.rejected_lines = rejected.count, rejected.lines
        if not table.num_rows:
            why = f": all {self.rejected} rows were rejected" if self.rejected else ""
            raise ReadError(f"{self.files.ratings.file.name}: no ratings{why}")
        scale = self.options.scale or (MOVIE_STARS if reading.movies else None)
        ratings = Ratings(table, list(reading.users), list(reading.items), titles, scale)
        taggings = None
        if triples is not None or reading.item_tags:
            taggings = UserTaggings(
                _ids_table(triples or [], USER_TAGGINGS), list(reading.tags), reading.item_tag_table()
            )
        self.remark = "; ".join([*self._known(ratings, taggings), *reading.remarks(ratings, rated)])
        return ratings, taggings

    def _read_libraries(self, file: Path) -> tuple[Ratings, UserTaggings]:
        """Who keeps which paper counts as a rating of 1; the tags of papers are nobody's."""
        ratings = read_libraries(file)
        links, names = read_paper_tags(file)
        pairs = np.column_stack([np.repeat(np.arange(links.shape[0]), np.diff(links.indptr)), links.indices])
        taggings = UserTaggings(_ids_table([], USER_TAGGINGS), list(names), _ids_table(pairs, ITEM_TAGS))
        self.remark = "; ".join(self._known(ratings, taggings))
        return ratings, taggings

    def _known(self, ratings: Ratings, taggings: UserTaggings | None) -> list[str]:
        counts = {"ratings": len(ratings), "taggings": len(taggings) if taggings is not None else 0}
        card = card_of(counts)
        return [f"{card.title}; {card.terms}"] if card is not None and not self.rejected else []


class _Reading:
    """What one pass over the files of a data set gathers."""

    def __init__(self, options: RatingOptions, rejected: RejectedRows) -> None:
        self.users, self.items, self.tags = Names(), Names(), Names()
        self.item_tags: dict[tuple[int, int], None] = {}
        self.movies = False
        self._options, self._rejected = options, rejected
        self._recoded: dict[str, int] = {}
        self._counts = False

    def ratings(self, file: TableFile) -> pa.Table:
        """Reads the ratings as numbers of users and items."""
        names = [name.strip().lower() for name in file.header]
        self.movies = any(name in MOVIES for name in names) or (not file.has_header and file.delimiter == "::")
        given = self._options.counts
        self._counts = given if given is not None else any(n in COUNTS for n in names) and "rating" not in names
        scale = self._options.scale or (MOVIE_STARS if self.movies else None)
        user_ids, item_ids, values, times = array("i"), array("i"), array("d"), list[int | None]()
        lines: dict[tuple[str, str], int] = {}
        for record in self._records(file, ("user", "item", "rating")):
            try:
                value, time = _value(record["rating"], self._counts, scale), _microseconds(record.get("time"))
                user, item = _name(record["user"], "user"), _name(record["item"], "item")
                if self._options.duplicates == "refuse" and (user, item) in lines:
                    raise BadValue(f"user {user}, item {item}", f"a pair once; it is rated on line {lines[user, item]}")
            except BadValue as error:
                record.reject(error)
                continue
            if self._options.duplicates == "refuse":
                lines[user, item] = record.line
            user_ids.append(self.users.id(user))
            item_ids.append(self.items.id(item))
            values.append(value)
            times.append(time)
        columns = [np.frombuffer(ids, np.int32) if ids else np.empty(0, np.int32) for ids in (user_ids, item_ids)]
        time_column = pa.array(times, pa.int64()).cast(RATINGS.field("time").type)
        return pa.table([*map(pa.array, columns), pa.array(np.array(values)), time_column], schema=RATINGS)

    def taggings(self, file: TableFile, names: dict[str, str]) -> list[tuple[int, int, int]]:
        """Reads who gave which tag to what, every triple once; a tag that is a number is looked up in `names`."""
        field = "tag_id" if names and "tag_id" in file.fields() else "tag"
        triples: dict[tuple[int, int, int], None] = {}
        for record in self._records(file, ("user", "item", field)):
            try:
                user, item = _name(record["user"], "user"), _name(record["item"], "item")
                given = _name(record[field], "tag")
                if field == "tag_id" and given not in names:
                    raise BadValue(given, "the number of a tag that the file of tags names")
                tag = plain_tag(names[given] if field == "tag_id" else given)
            except BadValue as error:
                record.reject(error)
                continue
            if tag:
                triples[self.users.id(user), self.items.id(item), self.tags.id(tag)] = None
        return list(triples)

    def tag_names(self, file: TableFile) -> dict[str, str]:
        """Reads what the numbers of tags mean."""
        names = {}
        for record in self._records(file, ("tag_id", "tag_name")):
            try:
                names[_name(record["tag_id"], "tag")] = require_length(record["tag_name"] or "", "tag")
            except BadValue as error:
                record.reject(error)
        return names

    def titles(self, file: TableFile) -> list[str]:
        """Reads what the items are called, and their genres where these stand beside; others than the items known by
        now are passed over."""
        titles = [""] * len(self.items)
        for record in self._records(file, ("item", "title")):
            try:
                item = self.items.find(_name(record["item"], "item"))
                title = require_length((record["title"] or "").strip(), "title")
            except BadValue as error:
                record.reject(error)
                continue
            if item is not None:
                titles[item] = title
                for genre in (record.get("genres") or "").split("|"):
                    self._add_genre(item, genre)
        return titles

    def genres(self, file: TableFile) -> None:
        """Reads a table of items and genres, one of these a row."""
        for record in self._records(file, ("item", "genre")):
            item = self.items.find((record["item"] or "").strip())
            if item is not None:
                self._add_genre(item, record["genre"] or "")

    def item_tag_table(self) -> pa.Table | None:
        """The tags that items have by themselves."""
        return _ids_table(list(self.item_tags), ITEM_TAGS) if self.item_tags else None

    def remarks(self, ratings: Ratings, rated: tuple[int, int]) -> Iterator[str]:
        """What a person should know of how the rows were taken."""
        if self._counts:
            yield "counts are taken as log10(1 + count)"
        if twice := len(ratings) - ratings.matrix.nnz:
            yield f"{twice:,} ratings are of a pair that is rated again: the last counts"
        for what, names, known in zip(("users", "items"), (self.users, self.items), rated, strict=True):
            if len(names) > known:
                yield f"{len(names) - known:,} {what} are tagged, but without a rating"
        for name, lines in self._recoded.items():
            yield f"{lines:,} lines of {Path(name).name} are no UTF-8: read as Windows-1252"

    def _add_genre(self, item: int, genre: str) -> None:
        if genre and genre != _NO_GENRE and (tag := plain_tag(genre)):
            self.item_tags[item, self.tags.id(tag)] = None

    def _records(self, file: TableFile, needed: tuple[str, ...]) -> Iterator["_Record"]:
        table = file.open(self._options, needed)
        while True:
            try:
                fields = table.record()
            except BadValue as error:
                _Record({}, table, self._rejected).reject(error)
                continue
            if fields is None:
                break
            yield _Record(fields, table, self._rejected)
        if isinstance(table, PlainTable) and table.recoded:
            self._recoded[file.file.name] = table.recoded


class _Record(dict[str, str | None]):
    """Cells of one row by field, which can be rejected for what one of them holds."""

    def __init__(self, fields: dict[str, str | None], table: CsvTable | PlainTable, rejected: RejectedRows) -> None:
        super().__init__(fields)
        self._table, self._rejected = table, rejected

    @property
    def line(self) -> int:
        return self._table.line

    def reject(self, error: BadValue) -> None:
        """Raises a BadRow, or notes the row in the side file."""
        table = self._table
        self._rejected.add(table.file.name, table.line, error.value, error.expected, b"".join(table.raw))


def _ids_table(rows: Any, schema: pa.Schema) -> pa.Table:
    columns = np.array(rows, np.int32).reshape(-1, len(schema)).T
    return pa.table([pa.array(column, pa.int32()) for column in columns], schema=schema)


def _name(cell: str | None, field: str) -> str:
    name = (cell or "").strip()
    if not name:
        raise BadValue("", {"user": "the name of a user", "item": "the name of an item", "tag": "a tag"}[field])
    return require_length(name, field)


def _value(cell: str | None, counts: bool, scale: tuple[float, float] | None) -> float:
    try:
        value = float(cell or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadValue(cell or "", "a finite number as the rating")
    if counts:
        if value < 0:
            raise BadValue(cell, "a count of at least 0; the option counts=false takes values as they are")
        value = math.log10(1 + value)
    if scale is not None and not scale[0] <= value <= scale[1]:
        raise BadValue(cell, f"a rating from {scale[0]:g} to {scale[1]:g}, the scale (option scale=[LOWEST, HIGHEST])")
    return value


def _microseconds(cell: str | None) -> int | None:
    """Microseconds since 1970; None without a time."""
    text = (cell or "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise BadValue(text, "seconds since 1970 or an ISO 8601 time") from None
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not abs(seconds) < 1e11:  # some three thousand years
        raise BadValue(text, "seconds since 1970, within 3,000 years of it")
    return round(seconds * 1e6)
