"""Which file of a folder holds the ratings, which the tags and which the titles: told by how each begins."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from tagcore.readers.bad_rows import ReadError
from tagcore.readers.cards import recognise
from tagcore.readers.csv_table import CsvTable
from tagcore.readers.input_files import InputFile, first_bytes, is_zip, zip_members
from tagcore.readers.ratings.options import USUAL_NAMES, RatingOptions
from tagcore.readers.ratings.plain_table import PlainTable, western
from tagcore.readers.records import how_to_name

Role = Literal["ratings", "taggings", "titles", "tag names", "genres"]
Columns = Callable[[str, list[str]], dict[str, int]]

_FIELDS = USUAL_NAMES | {
    "tag_id": ("tagid", "tag_id"),
    "tag_name": ("tagvalue", "tag_value"),
    "title": ("title", "name"),
    "genres": ("genres",),
    "genre": ("genre",),
}
_NEEDED: dict[Role, tuple[str, ...]] = {
    "ratings": ("user", "item", "rating"),
    "taggings": ("user", "item", "tag"),
    "titles": ("item", "title"),
    "tag names": ("tag_id", "tag_name"),
    "genres": ("item", "genre"),
}
_WITHOUT_HEADER: dict[str, tuple[Role, tuple[str, ...]]] = {  # by the name of the file up to its ending
    "ratings": ("ratings", ("user", "item", "rating", "time")),
    "u.data": ("ratings", ("user", "item", "rating", "time")),
    "tags": ("taggings", ("user", "item", "tag", "time")),
    "movies": ("titles", ("item", "title", "genres")),
    "u.item": ("titles", ("item", "title")),
}
_IN_ORDER = dict(reversed(_WITHOUT_HEADER.values()))  # of two files of a role, as the first has it
_ENDINGS = (".csv", ".tsv", ".tab", ".dat", ".data", ".item")
_QUOTED = (".csv", ".tsv", ".tab")
# of several files of one role, and the names that folders are told to have
_PREFERRED = (
    "ratings.csv", "ratings.tsv", "ratings.dat", "u.data", "user_artists.dat", "user_ratedmovies-timestamps.dat",
    "user_ratedmovies.dat", "tags.csv", "tags.tsv", "tags.dat", "user_taggedartists.dat", "user_taggedmovies.dat",
    "movies.csv", "movies.dat", "items.csv", "artists.dat", "u.item",
)  # fmt: skip
_LIBRARIES = "users.dat"


@dataclass(frozen=True)
class TableFile:
    """One table: its file, what stands between its cells, and the names of its columns."""

    file: InputFile
    delimiter: str
    quoted: bool
    header: list[str]
    has_header: bool

    def fields(self) -> set[str]:
        """The fields that its columns are called as."""
        names = [name.strip().lower() for name in self.header]
        known = {field for field, usual in _FIELDS.items() if any(name in usual for name in names)}
        return known | ({"item"} if "id" in names and "title" in known else set())

    def open(self, options: RatingOptions, needed: tuple[str, ...]) -> CsvTable | PlainTable:
        """The records of the table, which must have the needed columns."""
        columns, names = partial(_columns, options, needed), None if self.has_header else self.header
        if self.quoted:
            return CsvTable(self.file, options, columns, names)
        return PlainTable(self.file, options, self.delimiter, names, columns)


@dataclass(frozen=True)
class RatingFiles:
    """The files of one data set."""

    ratings: TableFile | None  # None: the libraries of CiteULike
    libraries: Path | None = None
    taggings: TableFile | None = None
    titles: TableFile | None = None
    tag_names: TableFile | None = None
    genres: TableFile | None = None

    @property
    def tables(self) -> list[TableFile]:
        every = (self.ratings, self.taggings, self.titles, self.tag_names, self.genres)
        return [table for table in every if table is not None]


def find_files(path: Path, options: RatingOptions) -> RatingFiles:
    """Finds the files of a folder or zip, or the one file of ratings and those that the options name beside it."""
    if path.is_dir() or (path.is_file() and is_zip(path)):
        roles = _roles(path, options)
        if "ratings" not in roles:
            if (path / _LIBRARIES).is_file() and (path / "mult.dat").is_file():
                return RatingFiles(None, libraries=path / _LIBRARIES)
            known = ", ".join(name for name in _PREFERRED if name.startswith(("ratings", "user_", "u.data")))
            raise ReadError(
                f"{path}: holds no file of ratings, expected one of {known}, {_LIBRARIES} of CiteULike, or a table "
                "with the columns user, item and rating"
            )
        folder = path if path.is_dir() else path.parent
    else:
        if path.name == _LIBRARIES and (path.parent / "mult.dat").is_file():
            return RatingFiles(None, libraries=path)
        roles, folder = {"ratings": _chosen(path, options, "ratings")}, path.parent
    if options.taggings is not None:
        roles["taggings"] = _chosen(folder / options.taggings, options, "taggings")
    if options.titles is not None:
        roles["titles"] = _chosen(folder / options.titles, options, "titles")
    get = roles.get
    return RatingFiles(roles["ratings"], None, get("taggings"), get("titles"), get("tag names"), get("genres"))


def holds_ratings(path: Path | str) -> bool:
    """Whether a file, folder or zip is one of ratings, by how its files begin; a known set of documents is none."""
    path = Path(path)
    options = RatingOptions()
    try:
        if path.is_dir() or (path.is_file() and is_zip(path)):
            return recognise(path) is None and "ratings" in _roles(path, options)
        if not path.is_file() or not _name(InputFile(path)).endswith(_ENDINGS):
            return False
        table = _look(InputFile(path), options)
        return table is not None and _role(table) == "ratings"
    except ReadError:  # several sets of documents, or nothing that can be read
        return False


def _roles(place: Path, options: RatingOptions) -> dict[Role, TableFile]:
    """The tables of a folder or zip by what they hold."""
    if place.is_dir():
        files = [InputFile(path) for path in sorted(place.iterdir()) if path.is_file()]
    else:
        files = [InputFile(place, member) for member in sorted(zip_members(place))]
    found: dict[Role, list[TableFile]] = {}
    for file in files:
        table = _look(file, options) if _name(file).endswith(_ENDINGS) else None
        if table is not None and (role := _role(table)) is not None:
            found.setdefault(role, []).append(table)
    return {role: _preferred(place, role, tables) for role, tables in found.items()}


def _preferred(place: Path, role: Role, tables: list[TableFile]) -> TableFile:
    by_name = {_name(table.file): table for table in tables}
    known = [by_name[name] for name in _PREFERRED if name in by_name]
    if not known and len(tables) > 1:
        names = " and ".join(_name(table.file) for table in tables[:2])
        raise ReadError(f"{place}: {names} may both be the {role}, expected one of them, or the path of that file")
    return (known or tables)[0]


def _role(table: TableFile) -> Role | None:
    fields = table.fields()
    if not table.has_header:
        known = _WITHOUT_HEADER.get(_stem(table.file))
        return known[0] if known is not None else None
    if "tag_id" in fields and {"user", "item"} <= fields:
        return "taggings"
    roles: tuple[Role, ...] = ("taggings", "ratings", "titles", "tag names", "genres")
    return next((role for role in roles if set(_NEEDED[role]) <= fields), None)


def _look(file: InputFile, options: RatingOptions, role: Role | None = None) -> TableFile | None:
    """Looks how a table begins; None where nothing says what its columns are. What a file is that was chosen for a
    `role` is known: without a header its columns have their usual order."""
    plain, text = _name(file), _first_line(file, options)
    quoted = plain.endswith(_QUOTED) or not plain.endswith(_ENDINGS)
    delimiter = options.delimiter or _delimiter(text, plain)
    cells = next(csv.reader([text], delimiter=delimiter), []) if quoted else text.split(delimiter)
    usual = {name for names in _FIELDS.values() for name in names}
    given = [getattr(options, field) for field in USUAL_NAMES]
    if not text or any(cell.strip().lower() in usual or cell in given for cell in cells):
        return TableFile(file, delimiter, quoted, cells, True)
    by_name = _WITHOUT_HEADER.get(_stem(file))
    columns = _IN_ORDER.get(role) if role is not None else by_name and by_name[1]
    if columns is None:
        return None
    if role == "ratings" and (len(cells) < 3 or not _is_number(cells[2])):
        return TableFile(file, delimiter, quoted, cells, True)  # a header, but of unusual names
    others = [f"column {number}" for number in range(len(columns) + 1, len(cells) + 1)]
    if delimiter == "::":  # which a tag or a title may hold: there is no further column
        others = []
    return TableFile(file, delimiter, quoted, [*columns[: len(cells)], *others], False)


def _first_line(file: InputFile, options: RatingOptions) -> str:
    line = (first_bytes(file, options).lstrip(b"\r\n").splitlines() or [b""])[0]
    try:
        return line.decode()
    except UnicodeDecodeError:
        return western(line)


def _delimiter(text: str, name: str) -> str:
    if name.endswith((".tsv", ".tab")):
        return "\t"
    if not name.endswith(_QUOTED):
        if "::" in text:
            return "::"
        if "\t" in text:
            return "\t"
    return max(",;|\t", key=text.count)


def _name(file: InputFile) -> str:
    """The name of a file, or of a member of a zip, without folders and without .gz."""
    return (file.member or file.path.name).rpartition("/")[2].lower().removesuffix(".gz")


def _stem(file: InputFile) -> str:
    """The name without its ending, which of u.data and u.item says what they hold."""
    name = _name(file)
    return name if name.startswith("u.") else name.partition(".")[0]


def _chosen(path: Path, options: RatingOptions, role: Role) -> TableFile:
    if not path.is_file():
        raise ReadError(f"{path}: there is no such file")
    table = _look(InputFile(path), options, role)
    assert table is not None  # of a role, the columns are known
    return table


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _columns(options: RatingOptions, needed: tuple[str, ...], where: str, header: list[str]) -> dict[str, int]:
    """Maps field → column. Names that were given count as they are, the usual ones in upper or lower case."""
    plain = [name.strip().lower() for name in header]
    columns = {}
    for field, usual in _FIELDS.items():
        given = getattr(options, field, None) if field in USUAL_NAMES else None
        if "rating" not in needed and given not in header:
            given = None  # it was said of the ratings; a table beside them may have the usual names
        if field == "item" and "title" in needed and not any(name in usual for name in plain):
            usual = ("id",)
        at = [i for i, name in enumerate(header if given else plain) if name in ((given,) if given else usual)]
        if len(at) > 1 and field in needed:
            raise ReadError(f"{where}: two columns may be the {field}, {header[at[0]]!r} and {header[at[1]]!r}")
        if at:
            columns[field] = at[0]
        elif field in needed:
            expected = repr(given) if given else " or ".join(map(repr, usual))
            raise ReadError(
                f"{where}: no column {expected} for the {field}; there are {', '.join(header)}: {how_to_name(field)}"
            )
    return columns
