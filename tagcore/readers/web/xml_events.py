"""XML read event by event, by expat: flat in memory, and harmless where it declares entities or nests without end."""

from collections.abc import Callable, Iterable
from xml.parsers import expat

DEEPEST = 100  # elements inside one another


class BadXml(ValueError):
    """XML that is not read: not well formed, or hostile."""


def read_xml(
    chunks: Iterable[bytes],
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
) -> None:
    """Calls `start(name, attributes)`, `end(name)` and `text(characters)` as they come; names are without prefixes."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def started(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise BadXml(f"more than {DEEPEST} elements inside one another")
        start(name.rpartition(" ")[2], attributes)

    def ended(name: str) -> None:
        nonlocal depth
        depth -= 1
        if end is not None:
            end(name.rpartition(" ")[2])

    parser.StartElementHandler = started
    parser.EndElementHandler = ended
    parser.EntityDeclHandler = _refuse_entities
    parser.ExternalEntityRefHandler = None
    if text is not None:
        parser.CharacterDataHandler = text
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise BadXml(f"not well-formed XML ({error})") from None
    except (UnicodeError, LookupError) as error:
        raise BadXml(f"XML in letters that cannot be read ({error})") from None


def _refuse_entities(*_: object) -> None:
    raise BadXml("declares entities, which are not read")
