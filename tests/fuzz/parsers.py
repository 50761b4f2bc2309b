"""Every parser of what comes from outside: files that it reads, and what it does with one."""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from protego import Protego
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tagcore.corpus import append_block, append_names
from tagcore.readers import open_source
from tagcore.readers.citeulike import read_libraries
from tagcore.readers.ratings import RatingsSource
from tagcore.readers.rcv1.taxonomy import read_taxonomy
from tagcore.readers.web.answers import parse_body
from tagcore.readers.web.urls import canonical_url, has_login
from tagcore.store.datasets import write_dataset
from tasks.crawl.crawl_run import read_url_list
from tasks.demo_site.site import DemoSite
from tests.tagcore.readers import dumps, test_mutated, test_mutated_sets, test_mutated_tables

Files = dict[str, bytes]
_OPTIONS = {"rcv1": {"terms": 100}}  # its 47,236 terms would be named anew for every input
_STORED = 16  # of so many inputs one is also written as a corpus, which takes its time


class Refused(ValueError):
    """An input that is not taken, as it should be."""


@dataclass(frozen=True)
class Parser:
    """What it reads: files by name. `read` gets those of one input, a folder to put them into, and the input's number;
    it raises ValueError where it refuses them."""

    seeds: list[Files]
    read: Callable[[Files, Path, int], None]


@cache
def parsers() -> dict[str, Parser]:
    """All parsers by name."""
    site = DemoSite(12)
    pages = [site.answer(note.path, {}).body for note in site.notes.values()]
    few = DemoSite(2)
    found = {
        "pages": _of_bodies("page", pages),
        "feeds": _of_bodies("feed", [few.answer("/feed", {}).body, _RSS]),
        "sitemaps": _of_bodies("sitemap", [few.answer("/sitemap.xml", {}).body]),
        "robots.txt": Parser([{"": site.answer("/robots.txt", {}).body}, {"": _ROBOTS}], _read_robots),
        "addresses": Parser([{"": address.encode()} for address in _ADDRESSES], _read_address),
        "lists of addresses": Parser([{"a.txt": b"# mine\nhttp://a.org/x\n\nhttps://b.org/?q=1\n"}], _read_list),
        "WARC": _of_files(_warcs(pages[0]), "a.warc"),
    }
    for name, files in dumps.FORMATS.items():
        found[name] = _of_files([files], name)
    for name, data in test_mutated.FILES.items():
        beside = {"a.xml": test_mutated.XML} if name == "a.arff" else {"a.arff": test_mutated.ARFF}
        files = {name: data} | (beside if name in ("a.arff", "a.xml") else {})
        found[name] = _of_files([files], "a.arff" if name == "a.xml" else name)
    for name, (opened, files) in test_mutated_sets.SETS.items():
        found[name] = _of_files([files], opened, format=name, **_OPTIONS.get(name, {}))
    for name, data in test_mutated_tables.FILES.items():
        found[name] = _of_files([{name: data}], name)
    found["taxonomy"] = Parser([{"tree": b"Root\tA\tB\nA\tA1\n"}], _read_with(read_taxonomy, "tree"))
    libraries = {"users.dat": b"1 2\n2 0 1\n", "mult.dat": b"0\n0\n0\n"}
    found["libraries"] = Parser([libraries], _read_with(read_libraries, "users.dat"))
    found["ratings"] = Parser(_RATINGS, _read_with(lambda folder: RatingsSource(folder).read(), ""))
    return found


_RSS = b"""<?xml version="1.0" encoding="iso-8859-1"?><rss version="2.0"><channel><title>Bread</title>
<link>http://a.org/</link><item><title>Rye &amp; wheat</title><link>/rye</link><category>bread</category>
<author>ann</author><pubDate>Wed, 01 May 2024 12:00:00 GMT</pubDate>
<description>&lt;b&gt;caf\xe9&lt;/b&gt;</description></item></channel></rss>"""
_ROBOTS = (
    b"User-agent: tagflow\nDisallow: /*/x$\nAllow: /a\nCrawl-delay: 2\nRequest-rate: 1/5\nSitemap: http://a.org/s.xml\n"
)
_ADDRESSES = (
    "https://example.org/a/../b%7Ec?q=\u00fc&utm_source=x#top",
    "http://user:word@[2001:db8::1]:8080/a;b?c=d",
    "//b\u00fccher.example/%zz/./..",
)
_RATINGS: list[Files] = [
    {
        "ratings.csv": b"user,item,rating,time\nann,tea,4.5,0\nbob,jam,3,2024-05-01T12:00:00Z\n",
        "tags.csv": b"user,item,tag\nann,tea,hot\n",
    },
    {
        "ratings.dat": b"1::31::2.5::1260759144\n2::31::4.5::835355493\n",
        "tags.dat": b"1::31::Star::Wars::1137179352\n",
        "movies.dat": b"31::Les Mis\xe9rables (1995)::Drama|War\n",
    },
    {
        "user_artists.dat": b"userID\tartistID\tweight\n2\t51\t999\n3\t52\t0\n",
        "user_taggedartists.dat": b"userID\tartistID\ttagID\n2\t51\t13\n",
        "tags.dat": b"tagID\ttagValue\n13\tmetal\n",
        "artists.dat": b"id\tname\turl\n51\tDuran Duran\thttp://x\n",
    },
]


def _warcs(page: bytes) -> list[Files]:
    """A page and one that is gone, a feed and a redirect: plain and packed."""
    halves = (
        [("/a", "200 OK", page), ("/b", "404 Gone", b"")],
        [("/feed", "200 OK", _RSS), ("/c", "301 Moved", b""), ("/rye", "200 OK", b"<title>Rye</title><p>Bread")],
    )
    return [{"a.warc": _warc(answers, packed)} for answers in halves for packed in (False, True)]


def _warc(answers: list[tuple[str, str, bytes]], packed: bool) -> bytes:
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=packed)
    for path, status, body in answers:
        head = StatusAndHeaders(status, [("Content-Type", "text/html"), ("Location", "/a")], protocol="HTTP/1.1")
        record = writer.create_warc_record(
            f"http://a.org{path}", "response", payload=io.BytesIO(body), http_headers=head
        )
        writer.write_record(record)
    return out.getvalue()


def _of_bodies(role: str, bodies: list[bytes]) -> Parser:
    def read(files: Files, folder: Path, number: int) -> None:
        for kind in (role, "start") if number % 8 == 0 else (role,):
            content_type = ("text/html", "text/xml; charset=utf-16", "text/plain", "text/html; charset=rot13")[
                number % 4
            ]
            found = parse_body(kind, "https://example.org/x", content_type, files[""])
            json.dumps(found)
        if "refused" in found:
            raise Refused(found["refused"])

    return Parser([{"": body} for body in bodies], read)


def _of_files(seeds: list[Files], opened: str, **options: Any) -> Parser:
    def read(files: Files, folder: Path, number: int) -> None:
        path, rejected = _written(files, folder) / opened, folder / "rejected"
        stored = number % _STORED == 0
        try:
            source = open_source(path, skip_bad_rows=rejected if number % 2 else None, **options)
            if stored:
                with write_dataset(folder / "corpus", "corpus") as writer:
                    for block in source.blocks():
                        append_block(writer, block)
                    append_names(writer, source.tags, source.words)
            else:
                for _ in source.blocks():
                    continue
        except ValueError as error:
            _require(str(folder) in str(error) and len(str(error)) < 2000, f"a message that tells nothing: {error}")
            _require_only(folder, "data", "rejected")
            raise
        _require(source.counts.documents > 0, "no documents")
        _require(bool(number % 2) or not source.rejected, "rows are left out")
        _require_only(folder, "data", "rejected", *(["corpus"] if stored else []))

    return Parser(seeds, read)


def _read_with(function: Callable[[Path], object], opened: str) -> Callable[[Files, Path, int], None]:
    def read(files: Files, folder: Path, number: int) -> None:
        try:
            function(_written(files, folder) / opened)
        except ValueError as error:
            _require(str(folder) in str(error), f"a message that names no file: {error}")
            raise

    return read


def _require(right: bool, wrong: str) -> None:
    if not right:
        raise AssertionError(wrong)


def _require_only(folder: Path, *names: str) -> None:
    left = {entry.name for entry in folder.iterdir()} - set(names)
    _require(not left, f"half written: {left}")


def _written(files: Mapping[str, bytes], folder: Path) -> Path:
    here = folder / "data"
    here.mkdir()
    for name, data in files.items():
        (here / name).write_bytes(data)
    return here


def _read_address(files: Files, folder: Path, number: int) -> None:
    letters = files[""].decode(errors="surrogateescape" if number % 3 else "replace")
    url = canonical_url(letters, "https://example.org/a/b")
    _require(canonical_url(url) == url, "spelt in two ways")
    _require(not has_login(url), "a password")


def _read_robots(files: Files, folder: Path, number: int) -> None:
    rules = Protego.parse(files[""].decode(errors="replace"))
    rules.can_fetch("https://example.org/a/x", "tagflow")
    rules.crawl_delay("tagflow")
    rules.request_rate("tagflow")
    list(rules.sitemaps)


def _read_list(files: Files, folder: Path, number: int) -> None:
    read_url_list(_written(files, folder) / "a.txt")
