"""A site whose every answer a test writes itself, and nights on it that parse in this process, which starts sooner."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

from tagcore.readers.web.answers import parse_body
from tagcore.readers.web.collection import Collection
from tagcore.readers.web.gathered import GatheredDocuments
from tasks.crawl.crawl_run import STATE, crawl
from tasks.crawl.crawler import CrawlCounts
from tasks.data_settings import CrawlSettings
from tasks.demo_site.site import SiteAnswer

Route = SiteAnswer | Callable[[dict[str, str]], SiteAnswer]


class RoutedSite:
    """Answers by path, and remembers when it was asked for what."""

    notes = ()

    def __init__(self, routes: dict[str, Route]) -> None:
        self.routes = routes
        self.address = ""
        self.asked: list[tuple[float, str]] = []

    def answer(self, target: str, headers: dict[str, str]) -> SiteAnswer:
        self.asked.append((time.monotonic(), target))
        route = self.routes.get(target, SiteAnswer(404))
        return route if isinstance(route, SiteAnswer) else route(headers)

    @property
    def paths(self) -> list[str]:
        """What was asked for, without robots.txt."""
        return [path for _, path in self.asked if path != "/robots.txt"]


def note(name: str, head: str = "", **headers: str) -> SiteAnswer:
    """A page with a text that no page of another name has."""
    words = " ".join(f"{name}{number}" for number in range(40))
    page = f"<html><head><title>{name}</title>{head}</head><body><article><p>{words}</p></article></body></html>"
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return SiteAnswer(200, page.encode(), {"content-type": "text/html; charset=utf-8", **named})


def text(body: bytes | str, kind: str = "text/plain", **headers: str) -> SiteAnswer:
    """Any other answer of text."""
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return SiteAnswer(200, body.encode() if isinstance(body, str) else body, {"content-type": kind, **named})


class _ParsersHere:
    """Parses without processes of its own."""

    def __init__(self, processes: int, seconds: float) -> None:
        self.threads = ThreadPoolExecutor(1)

    def parse(self, *asked) -> dict:
        return json.loads(json.dumps(parse_body(*asked)))

    def close(self) -> None:
        self.threads.shutdown()


def one_night(folder: Path, starts: list[str], items=(), **settings) -> CrawlCounts:
    """Crawls without long pauses."""
    with patch("tasks.crawl.crawl_run.ParserProcesses", _ParsersHere):
        return crawl(folder, starts, CrawlSettings(**{"back_off": 0.01} | settings), items=items, local=True)


def gathered(folder: Path) -> list[dict]:
    """The documents of a crawl, in their order."""

    def rows(collection: Collection) -> Iterator[dict]:
        for block in GatheredDocuments(collection).blocks():
            yield from block.documents.to_pylist()

    collection = Collection(folder / STATE)
    try:
        return list(rows(collection))
    finally:
        collection.close()
