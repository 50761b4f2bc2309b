"""Ratings from a table of user, item, rating and perhaps time, with tags from a table of user, item and tag."""

import hashlib
import json
import math
from array import array
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tagcore.corpus import Names
from tagcore.ratings import Ratings, UserTaggings
from tagcore.readers.bad_rows import BadValue, ReadError, RejectedRows
from tagcore.readers.csv_table import CsvLimits, CsvTable
from tagcore.readers.input_files import InputFile
from tagcore.readers.lengths import require_length
from tagcore.readers.records import how_to_name
from tagcore.store.datasets import file_hash
from tagcore.store.schemas import RATINGS, USER_TAGGINGS

USUAL_NAMES = {
    "user": ("user", "user_id", "userid"),
    "item": ("item", "item_id", "itemid"),
    "rating": ("rating", "value"),
    "time": ("time", "timestamp"),
    "tag": ("tag",),
}
_RATINGS_FILES, _TAGGINGS_FILES = (
    [f"{stem}.{ending}{packed}" for ending in ("csv", "tsv") for packed in ("", ".gz")] for stem in ("ratings", "tags")
)


@dataclass(frozen=True, kw_only=True)
class RatingOptions(CsvLimits):
    """Names of columns where they differ from the usual ones; `taggings` is the file of tags, beside the ratings."""

    user: str | None = None
    item: str | None = None
    rating: str | None = None
    time: str | None = None
    tag: str | None = None
    taggings: str | None = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> "RatingOptions":
        """Checks plain options; ValueError names one that there is not."""
        known = cls.__dataclass_fields__
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"unknown option {unknown[0]!r}, expected one of {', '.join(known)}")
        return cls(**given)


class RatingsSource:
    """The ratings of a file, or of a folder with a ratings.csv and perhaps a tags.csv (also .tsv and .gz).

    A time is a number of seconds since 1970 or ISO 8601 text, in UTC where it names no zone. Users and items that are
    only in the table of tags have a name, but no rating. `rejected` is the number of rows that were left out.
    """

    def __init__(self, path: Path | str, **options: Any) -> None:
        self.options = RatingOptions.of(options)
        self.ratings_file, self.taggings_file = _files(Path(path), self.options.taggings)
        self.rejected = 0

    def fingerprint(self) -> str:
        """Hashes everything that decides what reading gives: options and the bytes of both files."""
        hashes = [file_hash(path) for path in (self.ratings_file, self.taggings_file) if path is not None]
        options = {name: value for name, value in asdict(self.options).items() if name != "taggings"}
        return hashlib.sha256(json.dumps(["ratings csv", options, hashes], sort_keys=True).encode()).hexdigest()

    def read(self, skip_bad_rows: Path | None = None) -> tuple[Ratings, UserTaggings | None]:
        """Reads everything into memory, rows in their order; of a tagging that is there twice, one.

        The first bad row raises BadRow; with `skip_bad_rows` the bad rows go to that file and reading goes on.
        """
        users, items, tags = Names(), Names(), Names()
        with RejectedRows(skip_bad_rows) as rejected:
            ratings = self._ratings(users, items, rejected)
            triples = None
            if self.taggings_file is not None:
                triples = list(dict.fromkeys(self._taggings(self.taggings_file, users, items, tags, rejected)))
            self.rejected = rejected.count
        if not ratings.num_rows:
            why = f": all {self.rejected} rows were rejected" if self.rejected else ""
            raise ReadError(f"{self.ratings_file}: no ratings{why}")
        named = Ratings(ratings, list(users), list(items))
        if triples is None:
            return named, None
        columns = [pa.array(column, pa.int32()) for column in np.array(triples, np.int32).reshape(-1, 3).T]
        return named, UserTaggings(pa.table(columns, schema=USER_TAGGINGS), list(tags))

    def _ratings(self, users: Names, items: Names, rejected: RejectedRows) -> pa.Table:
        user_ids, item_ids, values, times = array("i"), array("i"), array("d"), list[int | None]()
        for record in self._records(self.ratings_file, ("user", "item", "rating"), rejected):
            try:
                value, time = _value(record["rating"]), _microseconds(record.get("time"))
                user, item = _name(record["user"], "user"), _name(record["item"], "item")
            except BadValue as error:
                record.reject(error)
                continue
            user_ids.append(users.id(user))
            item_ids.append(items.id(item))
            values.append(value)
            times.append(time)
        columns = [np.frombuffer(ids, np.int32) if ids else np.empty(0, np.int32) for ids in (user_ids, item_ids)]
        time_column = pa.array(times, pa.int64()).cast(RATINGS.field("time").type)
        return pa.table([*map(pa.array, columns), pa.array(np.array(values)), time_column], schema=RATINGS)

    def _taggings(
        self, path: Path, users: Names, items: Names, tags: Names, rejected: RejectedRows
    ) -> Iterator[tuple[int, int, int]]:
        for record in self._records(path, ("user", "item", "tag"), rejected):
            try:
                user, item, tag = (_name(record[field], field) for field in ("user", "item", "tag"))
            except BadValue as error:
                record.reject(error)
                continue
            yield users.id(user), items.id(item), tags.id(tag)

    def _records(self, path: Path, needed: Collection[str], rejected: RejectedRows) -> Iterator["_Record"]:
        table = CsvTable(InputFile(path), self.options, partial(_columns, self.options, needed))
        while True:
            try:
                fields = table.record()
            except BadValue as error:
                _Record({}, table, rejected).reject(error)
                continue
            if fields is None:
                return
            yield _Record(fields, table, rejected)


class _Record(dict[str, str | None]):
    """Cells of one row by field, which can be rejected for what one of them holds."""

    def __init__(self, fields: dict[str, str | None], table: CsvTable, rejected: RejectedRows) -> None:
        super().__init__(fields)
        self._table, self._rejected = table, rejected

    def reject(self, error: BadValue) -> None:
        """Raises a BadRow, or notes the row in the side file."""
        table = self._table
        self._rejected.add(table.file.name, table.line, error.value, error.expected, b"".join(table.raw))


def _files(path: Path, taggings: str | None) -> tuple[Path, Path | None]:
    """(file of ratings, file of taggings or None)."""
    folder = path if path.is_dir() else path.parent
    if path.is_dir():
        standing = [path / name for name in _RATINGS_FILES if (path / name).is_file()]
        if not standing:
            raise ReadError(f"{path}: holds no file of ratings, expected one of {', '.join(_RATINGS_FILES)}")
        path = standing[0]
        beside = [folder / name for name in _TAGGINGS_FILES if (folder / name).is_file()]
    else:
        beside = []
    named = [folder / taggings] if taggings is not None else beside
    for file in (path, *named[:1]):
        if not file.is_file():
            raise ReadError(f"{file}: there is no such file")
    return path, named[0] if named else None


def _columns(options: RatingOptions, needed: Collection[str], where: str, header: list[str]) -> dict[str, int]:
    """Maps field → column. Names that were given count as they are, the usual ones in upper or lower case."""
    plain = [name.strip().lower() for name in header]
    columns = {}
    for field, usual in USUAL_NAMES.items():
        given = getattr(options, field)
        at = [i for i, name in enumerate(header if given else plain) if name in ((given,) if given else usual)]
        if len(at) > 1:
            raise ReadError(f"{where}: two columns may be the {field}, {header[at[0]]!r} and {header[at[1]]!r}")
        if at:
            columns[field] = at[0]
        elif field in needed:
            expected = repr(given) if given else " or ".join(map(repr, usual))
            raise ReadError(
                f"{where}: no column {expected} for the {field}; there are {', '.join(header)}: {how_to_name(field)}"
            )
    return columns


def _name(cell: str | None, field: str) -> str:
    name = (cell or "").strip()
    if not name:
        raise BadValue("", {"user": "the name of a user", "item": "the name of an item", "tag": "a tag"}[field])
    return require_length(name, field)


def _value(cell: str | None) -> float:
    try:
        value = float(cell or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadValue(cell or "", "a finite number as the rating")
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
