"""A night's crawl of the addresses that a source names, from its state on disk to the documents in it."""

import asyncio
import base64
import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pydantic import SecretStr

from tagcore.corpus import DocumentSource
from tagcore.readers.web.collection import Collection
from tagcore.readers.web.feed import FeedItem
from tagcore.readers.web.urls import BadUrl, canonical_url, host_and_port, is_url
from tasks.crawl.addresses import Place
from tasks.crawl.archive import Archive
from tasks.crawl.crawler import CrawlCounts, Crawler, Watcher
from tasks.crawl.fetch import Fetcher
from tasks.crawl.parser_pool import ParserProcesses
from tasks.data_settings import CrawlSettings

STATE = "collection.db"


def crawl(
    folder: Path,
    starts: Iterable[str],
    settings: CrawlSettings,
    *,
    items: Iterable[FeedItem] = (),
    local: bool = False,
    instead: Mapping[Place, Place] | None = None,
    logins: Mapping[str, SecretStr] | None = None,
    watch: Watcher = lambda counts: None,
) -> CrawlCounts:
    """Fetches what is new or changed at these addresses and at all that they led to before; or ends a killed night.

    All it knows is in `folder`: the collection, and what was fetched as WARC files. A place of `instead` is asked at
    another one, as the demonstration site is, whose name no name service knows.
    """
    with _only_crawl(folder):
        collection = Collection(folder / STATE, settings.addresses)
        try:
            now = datetime.now(UTC)
            night = collection.begin_night(now)
            named = [canonical_url(address) for address in starts]
            for url in named:
                collection.add(url, "start")
            listed = list(items)
            collection.store_items(listed, night)
            collection.commit()
            fetcher = Fetcher(
                settings,
                user_agent(settings),
                {host_and_port(url) for url in (*named, *(item.url for item in listed))} if local else (),
                instead or {},
                {host: _basic(login) for host, login in (logins or {}).items()},
            )
            return asyncio.run(_run(collection, night, folder, settings, fetcher, watch))
        finally:
            collection.close()


async def _run(
    collection: Collection,
    night: int,
    folder: Path,
    settings: CrawlSettings,
    fetcher: Fetcher,
    watch: Watcher,
) -> CrawlCounts:
    parsers = ParserProcesses(max(1, (os.cpu_count() or 1) - 1), settings.parse_seconds)
    archive = None
    if settings.archive:
        path = folder / f"night-{night:05}.warc.gz"
        archive = Archive(path, collection.archived(path.name))
    try:
        return await Crawler(collection, fetcher, parsers, settings, night, archive, watch).run()
    finally:
        parsers.close()
        await fetcher.close()
        if archive is not None:
            archive.close()


def user_agent(settings: CrawlSettings) -> str:
    """Says who asks: the name that robots.txt may use, and how to reach whoever runs it."""
    contact = f"; {settings.contact}" if settings.contact else ""
    return f"tagflow/{version('tagflow')} (crawler{contact})"


def is_url_list(path: Path) -> bool:
    """Whether a file holds addresses, one a line."""
    if not path.is_file() or path.suffix.lower() not in (".txt", ".urls", ".list", ""):
        return False
    with open(path, "rb") as file:
        head = file.read(4096).decode("utf-8-sig", errors="replace")
    first = next((line.strip() for line in head.splitlines() if line.strip() and not line.startswith("#")), "")
    return is_url(first)


def read_url_list(path: Path) -> list[str]:
    """Reads addresses, one a line; empty lines and those that begin with # are none. BadUrl names the line."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig", errors="replace").splitlines(), 1):
        if (address := line.strip()) and not address.startswith("#"):
            try:
                found.append(canonical_url(address))
            except BadUrl as error:
                raise BadUrl(f"{path}, line {number}: {error}") from None
    return found


def bookmarked(source: DocumentSource) -> Iterator[FeedItem]:
    """Takes documents that name an address as entries of a feed, one for every person who tagged them."""
    for block in source.blocks():
        tags = list(source.tags)
        people: dict[int, dict[str | None, list[tuple[str, datetime | None]]]] = {}
        columns = (block.taggings[name].to_pylist() for name in ("document", "tag", "user", "time"))
        for document, tag, user, when in zip(*columns, strict=True):
            people.setdefault(document, {}).setdefault(user, []).append((tags[tag], when))
        urls, titles, texts = (block.documents[name].to_pylist() for name in ("url", "title", "text"))
        for number, (address, title, text) in enumerate(zip(urls, titles, texts, strict=True)):
            try:
                url = canonical_url(address or "")
            except BadUrl:
                continue
            for user, given in people.get(number, {None: []}).items():
                when = next((w for _, w in given if w), None)
                yield FeedItem(url, title, text, user, when, tuple(tag for tag, _ in given))


@contextmanager
def _only_crawl(folder: Path) -> Iterator[None]:
    """Keeps a second crawl of the same folder out; ValueError where one is at work."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{folder}: another run is crawling this; wait for it, or give a name of its own"
            ) from None
        yield


def _basic(login: SecretStr) -> str:
    return "Basic " + base64.b64encode(login.get_secret_value().encode()).decode()
