"""XML read event by event, by expat: flat in memory, and harmless where it declares entities or nests without end."""

from collections.abc import Callable, Iterable
from xml.parsers import expat

from tagcore.readers.bad_rows import shorten

DEEPEST = 100  # elements inside one another


class BadXml(ValueError):
    """XML that is not read: not well formed, or hostile."""


class XmlEvents:
    """Calls `start(name, attributes)`, `end(name)` and `text(characters)` as they come; names are without prefixes.

    `longest` is how many bytes may come without an element beginning or ending.
    """

    def __init__(
        self,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
        longest: int = 16 << 20,
    ) -> None:
        self._start, self._end, self._longest = start, end, longest
        self._depth = self._silent = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._started
        self._parser.EndElementHandler = self._ended
        self._parser.EntityDeclHandler = _refuse_entities
        if text is not None:
            self._parser.CharacterDataHandler = text

    @property
    def line(self) -> int:
        """The line that is being read."""
        return self._parser.CurrentLineNumber

    def feed(self, data: bytes, last: bool = False) -> None:
        """Reads on; BadXml where that is not possible."""
        self._silent += len(data)
        try:
            self._parser.Parse(data, last)
        except expat.ExpatError as error:
            raise BadXml(f"not well-formed XML ({error})") from None
        except (UnicodeError, LookupError) as error:
            raise BadXml(f"XML in letters that cannot be read ({shorten(error)})") from None
        if self._silent > self._longest:
            raise BadXml(f"more than {self._longest} bytes without an element")

    def _started(self, name: str, attributes: dict[str, str]) -> None:
        self._silent = 0
        self._depth += 1
        if self._depth > DEEPEST:
            raise BadXml(f"more than {DEEPEST} elements inside one another")
        self._start(name.rpartition(" ")[2], attributes)

    def _ended(self, name: str) -> None:
        self._silent = 0
        self._depth -= 1
        if self._end is not None:
            self._end(name.rpartition(" ")[2])


def read_xml(
    chunks: Iterable[bytes],
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
) -> None:
    """Reads a whole document by the calls of `XmlEvents`."""
    events = XmlEvents(start, end, text)
    for chunk in chunks:
        events.feed(chunk)
    events.feed(b"", last=True)


def _refuse_entities(*_: object) -> None:
    raise BadXml("declares entities, which are not read")
