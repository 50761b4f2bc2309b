"""Label names of a Mulan XML file, read without any document type or entity."""

from xml.parsers import expat

from tagcore.readers.bad_rows import ReadError, shorten
from tagcore.readers.input_files import InputFile, ReadLimits, read_small


def read_labels(file: InputFile, limits: ReadLimits) -> dict[str, int]:
    """Reads the names of all `label` elements, also nested ones, and their lines."""
    names: dict[str, int] = {}
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(":")[2] != "label":
            return
        line, name = parser.CurrentLineNumber, attributes.get("name", "").strip()
        if not name:
            raise ReadError(f"{file.name}, line {line}: a label without a name")
        if name in names:
            raise ReadError(f"{file.name}, line {line}: label {shorten(name)} again, first in line {names[name]}")
        names[name] = line

    def refuse(*_: object) -> None:
        line = parser.CurrentLineNumber
        raise ReadError(f"{file.name}, line {line}: a document type declaration, expected plain labels")

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(read_small(file, limits), True)
    except expat.ExpatError as error:
        raise ReadError(
            f"{file.name}, line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)})"
        ) from None
    except (LookupError, ValueError) as error:  # what Python says of an encoding that it has not, or not byte by byte
        if isinstance(error, ReadError):
            raise
        raise ReadError(f"{file.name}: in an encoding that cannot be read, expected UTF-8 ({shorten(error)})") from None
    if not names:
        raise ReadError(f"{file.name}: no label elements, expected one for every tag")
    return names
