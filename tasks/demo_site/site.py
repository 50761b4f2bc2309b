"""What the demonstration site answers: notes, a feed, a sitemap, rules for robots, and some things that are broken."""

import hashlib
import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

from tagcore.synthetic.corpus import demo_corpus
from tasks.demo_site.pages import Note, feed, front_page, http_date, note_page, sitemap

SITE = 1  # goes up when the same notes are shown otherwise
NAME = "http://margin-notes.example"
NEWEST = 30  # notes in the feed
NEW, CHANGED, VANISHED = 50, 20, 10  # notes, from one night to the next, of a site that is not tiny
_HTML = "text/html; charset=utf-8"
ROBOTS = "User-agent: *\nDisallow: /private/\n\nSitemap: {address}/sitemap.xml\n"


@dataclass(frozen=True)
class SiteAnswer:
    """What is sent back; `endless` bytes follow the body, `seconds` go by before it."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    endless: bytes = b""
    seconds: float = 0.0


class DemoSite:
    """A bookmarking site of so many notes. On a later `night` some are new, some changed, some gone.

    With `faults` it also has what a crawler must survive; these are listed in its sitemap beside the notes, some of
    which give no answer when they are asked for the first time.
    """

    def __init__(self, notes: int, *, night: int = 1, faults: bool = False, seed: int = 0) -> None:
        self.size, self.night, self.faults, self.seed = notes, night, faults, seed
        self.address = NAME  # or where it is served under no name of its own
        self.failures: dict[str, int] = {}  # how often a page that fails, if only at first, was asked for

    @cached_property
    def notes(self) -> dict[int, Note]:
        """The notes of this night, by number."""
        new = min(NEW, max(1, self.size // 10))
        n = self.size + new * (self.night - 1)
        notes = dict(enumerate(_planted(n, self.seed)))
        for earlier in range(1, self.night):
            changed = _every(self.size, min(CHANGED, new), earlier)
            for number in notes.keys() & set(changed):
                notes[number] = replace(notes[number], text=notes[number].text + f" This was added in night {earlier}.")
            for number in _every(self.size, min(VANISHED, new), earlier + 500):
                notes.pop(next(n % self.size for n in itertools.count(number) if n % self.size not in changed), None)
        return notes

    @property
    def listed(self) -> list[str]:
        """Paths in the sitemap."""
        paths = [note.path for note in self.notes.values()]
        first = next(iter(self.notes))
        paths += [f"/notes/{first}?utm_source=sitemap", f"/print/{first}", "/moved/1", "/missing", "/private/diary"]
        return [*paths, *FAULTS] if self.faults else paths

    def answer(self, target: str, headers: dict[str, str]) -> SiteAnswer:
        """Answers one request; `headers` have names in lower case."""
        answer = self._answer(target)
        if answer.status != 200 or answer.endless:
            return answer
        etag = f'"{hashlib.sha256(answer.body).hexdigest()[:20]}"'
        if headers.get("if-none-match") == etag:
            return SiteAnswer(304, headers={"etag": etag})
        return replace(answer, headers={**answer.headers, "etag": etag})

    def _answer(self, target: str) -> SiteAnswer:
        path, _, _ = target.partition("?")
        kind, _, rest = path.lstrip("/").partition("/")
        number = int(rest) if rest.isdigit() and len(rest) < 10 else -1
        if kind == "notes" and number in self.notes:
            note = self.notes[number]
            if self.faults and (failure := _FIRST_FAILURES.get(number % 40)) and self._asked(path) == 1:
                return failure
            page = _html(note_page(note))
            return replace(page, headers={**page.headers, "last-modified": http_date(note.time)})
        if kind == "print" and number in self.notes:
            return _html(note_page(self.notes[number], f"{self.address}/notes/{number}"))
        if kind == "moved":
            return SiteAnswer(301, headers={"location": f"/notes/{rest}"})
        if kind == "pictures":
            return SiteAnswer(200, b"\x89PNG\r\n\x1a\n", {"content-type": "image/png"})
        if path in self._texts:
            return self._texts[path]
        if self.faults and path in FAULTS:
            return self._fault(path)
        return SiteAnswer(404, b"<p>There is no such page.</p>", {"content-type": _HTML})

    @cached_property
    def _texts(self) -> dict[str, SiteAnswer]:
        newest = list(self.notes.values())[-NEWEST:]
        addresses = [self.address + path for path in self.listed]
        xml, robots = {"content-type": "application/xml"}, ROBOTS.format(address=self.address)
        return {
            "/": _html(front_page(newest)),
            "/about": _html("<p>A site that a program made up.</p>"),
            "/feed": SiteAnswer(200, feed(newest, self.address).encode(), {"content-type": "application/atom+xml"}),
            "/sitemap.xml": SiteAnswer(200, sitemap(addresses).encode(), xml),
            "/robots.txt": SiteAnswer(200, robots.encode(), {"content-type": "text/plain"}),
        }

    def _fault(self, path: str) -> SiteAnswer:
        return FAULTS[path](self._asked(path))

    def _asked(self, path: str) -> int:
        """Counts how often a page that fails was asked for."""
        self.failures[path] = self.failures.get(path, 0) + 1
        return self.failures[path]


def _html(page: str) -> SiteAnswer:
    return SiteAnswer(200, page.encode(), {"content-type": _HTML})


def _planted(n: int, seed: int) -> Iterator[Note]:
    corpus = demo_corpus(n, seed)
    tags, number = list(corpus.tags), 0
    for block in corpus.blocks(1000):
        given: list[list[tuple[str, str]]] = [[] for _ in range(block.documents.num_rows)]
        columns = (block.taggings[name].to_pylist() for name in ("document", "tag", "user"))
        for document, tag, user in zip(*columns, strict=True):
            given[document].append((user, tags[tag]))
        titles, texts = (block.documents[name].to_pylist() for name in ("title", "text"))
        for title, text, taggings in zip(titles, texts, given, strict=True):
            time = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
            yield Note(number, title, text, time, tuple(taggings))
            number += 1


def _every(size: int, n: int, which: int) -> list[int]:
    """Some numbers below `size`, others for every `which`."""
    return [(i * (size // n) + which * 7) % size for i in range(n)]


def _bomb() -> bytes:
    """Gives 64 MiB of blanks as 64 KiB of gzip."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(b" " * (1 << 20)) for _ in range(64)), packer.flush()])


def _fails_first(asked: int) -> SiteAnswer:
    if asked <= 1:
        return SiteAnswer(500)
    return _html("<title>It works at the second attempt</title><article><p>Flour, water and salt.</p></article>")


def _wrong_letters(asked: int) -> SiteAnswer:
    page = "<title>Crème brûlée</title><article><p>Le café est fermé, l’été aussi.</p></article>"
    return SiteAnswer(200, page.encode("cp1252"), {"content-type": "text/html; charset=utf-8"})


# path -> what it answers when it is asked for the n-th time
FAULTS = {
    "/fault/first": _fails_first,
    "/fault/letters": _wrong_letters,
    "/fault/error": lambda asked: SiteAnswer(500),
    "/fault/slow": lambda asked: SiteAnswer(seconds=3600.0),
    "/fault/trickle": lambda asked: SiteAnswer(headers={"content-type": _HTML}, endless=b"<"),
    "/fault/endless": lambda asked: SiteAnswer(headers={"content-type": _HTML}, endless=b"<p>more</p>" * 6000),
    "/fault/huge": lambda asked: SiteAnswer(headers={"content-type": _HTML, "content-length": str(10 << 30)}),
    "/fault/bomb": lambda asked: SiteAnswer(200, _bomb(), {"content-type": _HTML, "content-encoding": "gzip"}),
    "/fault/damaged": lambda asked: SiteAnswer(200, b"\x1f\x8bno", {"content-type": _HTML, "content-encoding": "gzip"}),
    "/fault/circle": lambda asked: SiteAnswer(302, headers={"location": "/fault/circle/back"}),
    "/fault/circle/back": lambda asked: SiteAnswer(302, headers={"location": "/fault/circle"}),
    "/fault/metadata": lambda asked: SiteAnswer(302, headers={"location": "http://169.254.169.254/latest/"}),
    "/fault/neighbour": lambda asked: SiteAnswer(302, headers={"location": "http://127.0.0.1:1/"}),
    "/fault/file": lambda asked: SiteAnswer(302, headers={"location": "file:///etc/passwd"}),
    "/fault/binary": lambda asked: SiteAnswer(200, bytes(1000), {"content-type": "application/octet-stream"}),
    "/fault/deep": lambda asked: _html("<div>" * 20_000),
    "/fault/hidden": lambda asked: _html("<meta name=robots content=noindex><p>Not to be stored.</p>"),
    "/fault/entities": lambda asked: SiteAnswer(
        200,
        b'<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><rss version="2.0"><channel>&b;</channel></rss>',
        {"content-type": "application/rss+xml"},
    ),
    "/fault/cut": lambda asked: SiteAnswer(200, b"<p>cut", {"content-type": _HTML, "content-length": "1000"}),
}
# number of a note, of every forty -> what it answers at first
_FIRST_FAILURES = {
    9: SiteAnswer(500),
    19: SiteAnswer(503, headers={"retry-after": "0"}),
    29: SiteAnswer(200, b"<p>cut", {"content-type": _HTML, "content-length": "1000"}),
}
GOOD_FAULTS = ("/fault/first", "/fault/letters")  # those that are documents all the same
