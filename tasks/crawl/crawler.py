"""The crawl of one night: what waits is fetched, site by site, a few at once, until nothing waits."""

import asyncio
import functools
import heapq
import itertools
import sqlite3
import time
import zlib
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpcore

from tagcore.readers.web.answers import NotTaken, store_answer
from tagcore.readers.web.collection import BEYOND, Address, Collection
from tagcore.readers.web.urls import BadUrl, canonical_url, origin_of
from tasks.crawl.archive import Archive
from tasks.crawl.fetch import Answer, Fetcher, Unreachable
from tasks.crawl.parser_pool import NoParser, ParserProcesses
from tasks.crawl.robots import SiteRules, not_had, read_rules
from tasks.data_settings import CrawlSettings

_REDIRECTS = (301, 302, 303, 307, 308)
_GONE = (404, 410)
_UNCOMMITTED = 50  # answers, at most, that a kill makes a crawl ask for again
_COMMIT_SECONDS = 2.0
_OF_THIS_MACHINE = (OSError, MemoryError, sqlite3.Error, NoParser)  # of which no page is the cause, such as a full disk

Watcher = Callable[["CrawlCounts"], None]


@dataclass
class CrawlCounts:
    """What a crawl has done since it was started or went on."""

    waiting: int = 0
    new: int = 0
    changed: int = 0
    same: int = 0  # of which the server said so, or whose content is what it was
    redirected: int = 0
    vanished: int = 0
    lists: int = 0  # feeds and sitemaps
    refused: Counter[str] = field(default_factory=Counter)
    retried: int = 0
    begun: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        """Addresses that were settled."""
        settled = self.new + self.changed + self.same + self.redirected + self.vanished + self.lists
        return settled + self.refused.total()

    @property
    def per_second(self) -> float:
        return self.done / max(time.monotonic() - self.begun, 1e-9)

    def told(self) -> str:
        """Tells it in a line."""
        named = ("new", "changed", "same", "vanished", "redirected", "lists")
        parts = [f"{n:,} {name}" for name in named if (n := getattr(self, name))]
        if self.refused:
            reasons = ", ".join(f"{reason} {n:,}" for reason, n in self.refused.most_common())
            parts.append(f"{self.refused.total():,} refused ({reasons})")
        return ", ".join(parts) or "nothing to fetch"


@dataclass(eq=False)
class _Site:
    origin: str
    free: int  # requests that may still be begun at once
    queue: deque[Address] = field(default_factory=deque)
    rules: SiteRules | None = None
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)
    not_before: float = 0.0
    held_until: float = 0.0  # as it said that it is busy
    held: int = 0  # how often in a row it said so


class Crawler:
    """Fetches all that waits in a collection. It may be killed at any time and begun again."""

    def __init__(
        self,
        collection: Collection,
        fetcher: Fetcher,
        parsers: ParserProcesses,
        settings: CrawlSettings,
        night: int,
        archive: Archive | None = None,
        watch: Watcher = lambda counts: None,
    ) -> None:
        self.counts = CrawlCounts()
        self._collection, self._fetcher, self._parsers = collection, fetcher, parsers
        self._settings, self._night, self._archive, self._watch = settings, night, archive, watch
        self._sites: dict[str, _Site] = {}
        self._due: list[tuple[float, int, _Site, Address | None]] = []  # a heap: when a site, or an address, is due
        self._numbers = itertools.count()
        self._tries: Counter[str] = Counter()
        self._running: set[asyncio.Task] = set()
        self._closing: set[asyncio.Task] = set()
        self._wake = asyncio.Event()
        self._failure: BaseException | None = None
        self._uncommitted, self._committed = 0, time.monotonic()

    async def run(self) -> CrawlCounts:
        """Goes on until nothing waits; then the night is over."""
        room = self._collection.room()
        for number, address in enumerate(self._collection.waiting()):
            if number < room:
                self._enqueue(address)
            else:
                self._refuse(address, BEYOND)
        try:
            while self._due or self._running:
                if self._failure is not None:
                    raise self._failure
                self._commit_when_due()
                self._start_what_is_due()
                self._wake.clear()
                if not self._due and not self._running:
                    continue
                try:
                    await asyncio.wait_for(self._wake.wait(), self._pause_until_due())
                except TimeoutError:
                    continue
        finally:
            for task in self._running:
                task.cancel()
        self._commit()
        self._collection.end_night(self._night, datetime.now(UTC))
        self._watch(self.counts)
        return self.counts

    def _pause_until_due(self) -> float | None:
        """Seconds until something is to be begun or committed; None where only what runs can bring that about."""
        times = [self._committed + _COMMIT_SECONDS] if self._uncommitted else []
        if self._due and len(self._running) < self._settings.at_once:
            times.append(self._due[0][0])
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _enqueue(self, address: Address) -> None:
        origin = origin_of(address.url)
        site = self._sites.get(origin)
        if site is None:
            site = self._sites[origin] = _Site(origin, self._settings.per_host)
        self.counts.waiting += 1
        self._queue(site, address)

    def _queue(self, site: _Site, address: Address) -> None:
        site.queue.append(address)
        if site.free:
            site.free -= 1
            self._push(site.not_before, site)

    def _push(self, when: float, site: _Site, address: Address | None = None) -> None:
        heapq.heappush(self._due, (when, next(self._numbers), site, address))
        self._wake.set()

    def _start_what_is_due(self) -> None:
        while self._due and len(self._running) < self._settings.at_once:
            now = time.monotonic()
            when, _, site, address = self._due[0]
            if when > now:
                return
            heapq.heappop(self._due)
            if address is not None:  # its pause is over
                self._queue(site, address)
            elif not site.queue:
                site.free += 1
                if site.free == self._settings.per_host:
                    self._close(self._fetcher.forget(site.origin))
            elif site.not_before > now:
                self._push(site.not_before, site)
            else:
                site.not_before = now + self._delay(site)
                task = asyncio.get_running_loop().create_task(self._visit(site, site.queue.popleft()))
                self._running.add(task)
                task.add_done_callback(functools.partial(self._ended, site))

    def _close(self, connections: list[httpcore.AsyncHTTPConnection]) -> None:
        """Closes connections of a site that has nothing left, beside what goes on."""
        for connection in connections:
            task = asyncio.get_running_loop().create_task(connection.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _ended(self, site: _Site, task: asyncio.Task) -> None:
        self._running.discard(task)
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = error
        self._push(site.not_before, site)

    def _delay(self, site: _Site) -> float:
        return max(self._settings.delay, site.rules.delay if site.rules else 0.0)

    async def _visit(self, site: _Site, address: Address) -> None:
        try:
            unknown = site.rules is None
            rules = await self._rules(site)
            if unknown and self._delay(site):  # others have waited for the rules, too: one after the other from now on
                site.queue.append(address)
                return
            if not rules.allow(address.url):
                raise NotTaken(rules.closed or "robots.txt")
            answer = await self._fetcher.get(address.url, etag=address.etag, modified=address.modified)
            site.held = 0
            await self._take(site, address, answer)
        except NotTaken as error:
            self._refuse(address, str(error))
        except Unreachable as error:
            if self._try_later(site, address, error):
                return
            self._refuse(address, error.reason)
        except _OF_THIS_MACHINE:
            raise
        except Exception as error:  # of what servers send any may come: it costs this page, not the night
            self._refuse(address, f"failed: {type(error).__name__}")
        self.counts.waiting -= 1
        self._settle()

    async def _rules(self, site: _Site) -> SiteRules:
        async with site.learning:
            if site.rules is None:
                why, pause = "", 0.0
                for attempt in range(self._settings.retries + 1):
                    await asyncio.sleep(pause)
                    try:
                        site.rules = await read_rules(self._fetcher, site.origin)
                        break
                    except Unreachable as error:
                        why = error.reason
                        pause = min(error.after or self._pause(site.origin, attempt), 60.0)
                else:
                    site.rules = SiteRules(closed=not_had(why))
                if delay := self._delay(site):
                    site.not_before = time.monotonic() + delay
        return site.rules

    async def _take(self, site: _Site, address: Address, answer: Answer) -> None:
        now = datetime.now(UTC)
        if answer.status == 304:
            self._collection.unchanged(address, now)
            self.counts.same += 1
            return
        if self._archive is not None:
            self._archive.write(address.role, address.url, answer, now)
        if answer.status in _REDIRECTS:
            self._follow(address, answer.headers.get("location", ""))
        elif answer.status in _GONE:
            if self._collection.vanish(address, f"status {answer.status}", now):
                self.counts.vanished += 1
            else:
                self.counts.refused[f"status {answer.status}"] += 1
        elif answer.status != 200:
            raise NotTaken(f"status {answer.status}")
        else:
            await self._read(site, address, answer, now)

    async def _read(self, site: _Site, address: Address, answer: Answer, now: datetime) -> None:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._parsers.threads, self._parsers.parse, address.role, address.url, answer.content_type, answer.body
        )
        at_the_door = address.role == "start" and address.url == f"{site.origin}/" and site.rules is not None
        sitemaps = tuple(site.rules.sitemaps) if at_the_door and site.rules else ()
        became, discovered = store_answer(
            self._collection, address, found, now, self._night, sitemaps, answer.robots_tag, **answer.validators
        )
        setattr(self.counts, became, getattr(self.counts, became) + 1)
        for new in discovered:
            self._enqueue(new)

    def _follow(self, address: Address, location: str) -> None:
        try:
            target = canonical_url(location, base=address.url)
            new = self._collection.redirect(address, target, self._settings.redirects)
        except BadUrl:
            raise NotTaken("redirect to no address") from None
        except ValueError as error:
            raise NotTaken(str(error)) from None
        self.counts.redirected += 1
        if new is not None:
            self._enqueue(new)

    def _try_later(self, site: _Site, address: Address, error: Unreachable) -> bool:
        self._tries[address.url] += 1
        pause = error.after if error.after is not None else self._pause(address.url, self._tries[address.url] - 1)
        when = time.monotonic() + min(pause, 3600.0)
        if error.busy and self._is_closed_by(site, when, error.reason):
            return False
        if self._tries[address.url] > self._settings.retries:
            return False
        self.counts.retried += 1
        self._push(when, site, address)
        return True

    def _is_closed_by(self, site: _Site, until: float, reason: str) -> bool:
        """Asks a site that is busy for nothing until then; one that says so too often in a row for nothing tonight."""
        now = time.monotonic()
        if now >= site.held_until:  # else it was asked before it said so
            site.held += 1
        if site.held > self._settings.retries:
            site.rules, site.not_before = SiteRules(closed=reason), now
            return True
        site.held_until = max(site.held_until, until)
        site.not_before = max(site.not_before, until)
        return False

    def _pause(self, url: str, attempt: int) -> float:
        """Doubles with every attempt, and differs a little between addresses, so that they do not come back at once."""
        spread = 1.0 + zlib.crc32(url.encode()) % 256 / 512
        return self._settings.back_off * 2.0**attempt * spread

    def _refuse(self, address: Address, reason: str) -> None:
        self._collection.refuse(address, reason)
        self.counts.refused[reason] += 1

    def _settle(self) -> None:
        self._uncommitted += 1
        self._commit_when_due()

    def _commit_when_due(self) -> None:
        late = time.monotonic() - self._committed >= _COMMIT_SECONDS
        if self._uncommitted >= _UNCOMMITTED or (self._uncommitted and late):
            self._commit()
            self._watch(self.counts)

    def _commit(self) -> None:
        if left_out := self._collection.left_out:
            self.counts.refused[BEYOND] += left_out
            self._collection.left_out = 0
        if self._archive is not None:
            self._collection.archived(self._archive.path.name, self._archive.flush())
        self._collection.commit()
        self._uncommitted, self._committed = 0, time.monotonic()
