"""Companions of the data: a file of a given name beside it, and lists of names, one a line."""

from tagcore.corpus import Names
from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.input_files import InputFile, ReadLimits, read_small, zip_members
from tagcore.readers.lengths import LONGEST


def companion_file(file: InputFile, *names: str) -> InputFile:
    """Returns the first file of these names that stands beside the given one, plain or with .gz."""
    wanted = [ending for name in names for ending in (name, f"{name}.gz")]
    if file.member is None:
        path = next((path for name in wanted if (path := file.path.parent / name).is_file()), None)
        if path:
            return InputFile(path)
    else:
        folder, slash, _ = file.member.rpartition("/")
        members = set(zip_members(file.path))
        for name in wanted:
            if (member := f"{folder}{slash}{name}") in members:
                return InputFile(file.path, member)
    raise ReadError(f"{file.name}: no {' or '.join(names)} beside it")


def read_names(file: InputFile, limits: ReadLimits, expected: int | None = None) -> Names:
    """Reads names, which must all be different; `expected` is how many, where that is known."""
    try:
        text = read_small(file, limits).decode()
    except UnicodeDecodeError as error:
        raise ReadError(f"{file.name}: not UTF-8 text ({error.reason} at byte {error.start + 1})") from None
    # a line ends nowhere else: real vocabularies hold the separators of Unicode, and names that differ only by them
    lines = [line.strip(" \t\r") for line in text.removesuffix("\n").split("\n")] if text else []
    for number, name in enumerate(lines, 1):
        if len(name) > LONGEST["tag"]:
            raise BadRow(file.name, number, name, f"at most {LONGEST['tag']:,} characters as a name")
    names = Names(lines)
    n = len(lines) if expected is None else expected
    if not len(names) == len(lines) == n:
        raise ReadError(f"{file.name}: {len(lines)} names, {len(names)} of them different, expected {n} different ones")
    return names
