"""Files with one name a line, of words or of tags."""

from tagcore.corpus import Names
from tagcore.readers.files import InputFile, Limits, read_small
from tagcore.readers.rejects import ReadError


def read_names(file: InputFile, limits: Limits, expected: int | None = None) -> Names:
    """The names, which must all be different; `expected` is how many, where that is known."""
    try:
        text = read_small(file, limits).decode()
    except UnicodeDecodeError as error:
        raise ReadError(f"{file.name}: not UTF-8 text ({error.reason} at byte {error.start + 1})") from None
    # a line ends nowhere else: real vocabularies hold the separators of Unicode, and names that differ only by them
    lines = [line.strip(" \t\r") for line in text.removesuffix("\n").split("\n")] if text else []
    names = Names(lines)
    n = len(lines) if expected is None else expected
    if not len(names) == len(lines) == n:
        raise ReadError(f"{file.name}: {len(lines)} names, {len(names)} of them different, expected {n} different ones")
    return names
