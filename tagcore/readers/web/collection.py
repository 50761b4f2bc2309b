"""Addresses, pages and taggings that a crawl has gathered, on disk: what waits, what was fetched when, what it gave.

All changes since the last `commit` are one transaction: a crawl that is killed goes on from there, and as every row is
keyed by its address nothing is lost or doubled.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from pathlib import Path

from tagcore.readers.web.feed import Feed, FeedItem
from tagcore.readers.web.page import Page
from tagcore.readers.web.urls import host_and_port

NOT_TEXT = "not text"  # why a picture is refused
BEYOND = "beyond the limit of addresses"
MOST_FOLLOWING = 500  # pages of one feed, sitemaps inside sitemaps
_SCHEMA = """
CREATE TABLE addresses (
    url TEXT PRIMARY KEY,
    role TEXT NOT NULL,              -- start, feed, sitemap or page
    state TEXT NOT NULL,             -- waiting, done, refused
    reason TEXT,                     -- why it was refused
    hops INTEGER NOT NULL DEFAULT 0, -- redirects that led here
    target TEXT,                     -- where it redirects to
    etag TEXT, modified TEXT         -- for the next request
) WITHOUT ROWID;
CREATE INDEX waiting ON addresses (state) WHERE state = 'waiting';
CREATE TABLE pages (
    url TEXT PRIMARY KEY,
    canonical TEXT NOT NULL,
    title TEXT, text TEXT NOT NULL, language TEXT,
    tags TEXT NOT NULL,              -- those that the page itself tells, as a JSON list of [user or "", tag]
    fetched_at INTEGER NOT NULL,     -- microseconds since 1970
    digest TEXT NOT NULL,            -- of all of the above but the time
    fingerprint TEXT NOT NULL,       -- of which near-duplicates share a part
    first_night INTEGER NOT NULL, changed_night INTEGER NOT NULL,
    vanished_at INTEGER              -- microseconds since 1970, where it is gone
) WITHOUT ROWID;
CREATE TABLE items (url TEXT PRIMARY KEY, title TEXT, summary TEXT, time INTEGER, night INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE taggings (
    url TEXT NOT NULL, user TEXT NOT NULL, tag TEXT NOT NULL, time INTEGER, PRIMARY KEY (url, user, tag)
) WITHOUT ROWID;
CREATE TABLE nights (number INTEGER PRIMARY KEY, begun TEXT NOT NULL, ended TEXT);
CREATE TABLE archives (file TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
"""
_PICTURES = f"""
CREATE TABLE pictures (              -- and whatever else was once found to be no text
    url TEXT PRIMARY KEY, vanished_at INTEGER
) WITHOUT ROWID;
INSERT INTO pictures SELECT url, NULL FROM addresses WHERE reason = '{NOT_TEXT}';
"""
_STEPS = (_SCHEMA, _PICTURES)  # from each version to the next
VERSION = len(_STEPS)


@dataclass(frozen=True)
class Address:
    """An address that waits to be asked for."""

    url: str
    role: str
    hops: int = 0
    etag: str | None = None
    modified: str | None = None

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        return host_and_port(self.url)


class Collection:
    """One file of sqlite. Not to be used by two crawls at once: `begin_night` takes it for this process.

    It takes no address beyond the first `most`; `left_out` counts how often one was told.
    """

    def __init__(self, path: Path | str, most: float = inf) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("BEGIN IMMEDIATE")
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        for step in _STEPS[version:]:
            for statement in step.split(";\n"):
                self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version = {max(version, VERSION)}")
        self.commit()
        if version > VERSION:
            self.close()
            raise ValueError(
                f"{self.path}: a crawl of version {version}, expected at most {VERSION}; move it away to begin anew"
            )

        self._known, self._most, self.left_out = sum(self.counts().values()), most, 0

    def begin_night(self, now: datetime) -> int:
        """Goes on with a night that has not ended; else begins one, in which all known addresses are asked again."""
        last = self._db.execute("SELECT number, ended FROM nights ORDER BY number DESC LIMIT 1").fetchone()
        if last is not None and last[1] is None:
            return last[0]
        number = last[0] + 1 if last else 1
        self._begin()
        self._db.execute("INSERT INTO nights VALUES (?, ?, NULL)", (number, now.isoformat()))
        self._db.execute("UPDATE addresses SET state = 'waiting', reason = NULL")
        self.commit()
        return number

    def end_night(self, number: int, now: datetime) -> None:
        """Ends a night when nothing waits any more."""
        self._begin()
        self._db.execute("UPDATE nights SET ended = ? WHERE number = ?", (now.isoformat(), number))
        self.commit()

    def add(self, url: str, role: str, hops: int = 0) -> bool:
        """Lets an address wait, unless it is known or beyond the limit; says whether it is new."""
        self._begin()
        if self._known >= self._most:
            self.left_out += not self._knows(url)
            return False
        new = self._db.execute(
            "INSERT OR IGNORE INTO addresses (url, role, state, hops) VALUES (?, ?, 'waiting', ?)", (url, role, hops)
        )
        self._known += new.rowcount
        return new.rowcount > 0

    def room(self) -> float:
        """How many of what waits are within the limit, which may have been a higher one before."""
        counts = self.counts()
        return self._most - (counts.total() - counts["waiting"] - counts[BEYOND])

    def waiting(self) -> list[Address]:
        """Lists what waits, in order of address: feeds and the like before pages, those that were stored before new."""
        rows = self._db.execute(
            "SELECT url, role, hops, etag, modified FROM addresses a WHERE state = 'waiting' "
            "ORDER BY role = 'page', NOT EXISTS (SELECT 1 FROM pages p WHERE p.url = a.url), url"
        )
        return [Address(*row) for row in rows]

    def store_page(
        self, address: Address, page: Page, fingerprint: str, digest: str, now: datetime, night: int, **validators: str
    ) -> str:
        """Stores what a page gave; says whether it is new, changed or the same as it was."""
        self._done(address.url, **validators)
        known = self._db.execute("SELECT digest, vanished_at FROM pages WHERE url = ?", (address.url,)).fetchone()
        if known == (digest, None):
            return "same"
        row = (
            page.canonical or address.url,
            page.title,
            page.whole_text,
            page.language,
            json.dumps(page.taggings or [("", tag) for tag in page.tags]),
            _microseconds(now),
            digest,
            fingerprint,
        )
        self._db.execute(
            "INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT (url) DO UPDATE SET "
            "canonical = excluded.canonical, title = excluded.title, text = excluded.text, "
            "language = excluded.language, tags = excluded.tags, fetched_at = excluded.fetched_at, "
            "digest = excluded.digest, fingerprint = excluded.fingerprint, "
            "changed_night = excluded.changed_night, vanished_at = NULL",
            (address.url, *row, night, night),
        )
        return "changed" if known else "new"

    def store_items(self, items: Iterable[FeedItem], night: int) -> list[str]:
        """Stores entries of a feed or an export with their taggings; gives the addresses that are new."""
        new = []
        for item in items:
            if self.add(item.url, "page"):
                new.append(item.url)
            elif not self._knows(item.url):
                continue
            time = _microseconds(item.time) if item.time else None
            self._db.execute(
                "INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?, ?)", (item.url, item.title, item.summary, time, night)
            )
            self._db.executemany(
                "INSERT OR IGNORE INTO taggings VALUES (?, ?, ?, ?)",
                [(item.url, item.user or "", tag, time) for tag in item.tags],
            )
        return new

    def store_feed(self, address: Address, feed: Feed, night: int, **validators: str) -> list[Address]:
        """Stores a feed's entries; gives what is now to be fetched."""
        new = [Address(url, "page") for url in self.store_items(feed.items, night)]
        if feed.following and address.hops < MOST_FOLLOWING and self.add(feed.following, "feed", address.hops + 1):
            new.append(Address(feed.following, "feed", address.hops + 1))
        self._done(address.url, **validators)
        return new

    def done(self, address: Address, **validators: str) -> None:
        """Notes that an address was fetched and has given all it has."""
        self._done(address.url, **validators)

    def unchanged(self, address: Address, now: datetime) -> None:
        """Notes that an address is as it was."""
        self._begin()
        self._db.execute("UPDATE addresses SET state = 'done', reason = NULL WHERE url = ?", (address.url,))
        self._db.execute("UPDATE pages SET vanished_at = NULL WHERE url = ?", (address.url,))

    def redirect(self, address: Address, target: str, most: int) -> Address | None:
        """Notes where an address leads; gives the target where it is new, ValueError for a circle or a long way.

        Only redirects of this night are one's way: a site may have turned an earlier one round.
        """
        seen, at = {address.url}, target
        while at:
            if at in seen:
                raise ValueError("redirects in a circle")
            seen.add(at)
            row = self._db.execute("SELECT target FROM addresses WHERE url = ? AND state = 'done'", (at,)).fetchone()
            at = row[0] if row and row[0] else ""
        if address.hops + 1 > most:
            raise ValueError("too many redirects")
        new = self.add(target, address.role, address.hops + 1)
        self._db.execute(
            "UPDATE addresses SET state = 'done', reason = NULL, target = ?, etag = NULL, modified = NULL "
            "WHERE url = ?",
            (target, address.url),
        )
        return Address(target, address.role, address.hops + 1) if new else None

    def refuse(self, address: Address, reason: str) -> None:
        """Notes why an address gives nothing tonight; what it gave before stays, and a picture is known as one."""
        self._begin()
        self._db.execute("UPDATE addresses SET state = 'refused', reason = ? WHERE url = ?", (reason, address.url))
        if reason == NOT_TEXT:
            self._db.execute("INSERT OR REPLACE INTO pictures VALUES (?, NULL)", (address.url,))

    def vanish(self, address: Address, reason: str, now: datetime) -> bool:
        """Marks a page that is gone, or a picture that a feed told of; none is deleted. Says whether there was one."""
        self.refuse(address, reason)
        known = {"pages": "", "pictures": " AND url IN (SELECT url FROM items)"}
        gone = [
            self._db.execute(
                f"UPDATE {table} SET vanished_at = ? WHERE url = ? AND vanished_at IS NULL{told}",
                (_microseconds(now), address.url),
            ).rowcount
            for table, told in known.items()
        ]
        return any(gone)

    def withdraw(self, address: Address) -> None:
        """Drops a page whose author no longer lets it be stored; the next night asks for all of it again."""
        self._begin()
        self._db.execute("DELETE FROM pages WHERE url = ?", (address.url,))
        self._db.execute("UPDATE addresses SET etag = NULL, modified = NULL WHERE url = ?", (address.url,))

    def counts(self) -> Counter[str]:
        """Counts addresses by state; the refused ones by reason."""
        rows = self._db.execute("SELECT coalesce(reason, state), count(*) FROM addresses GROUP BY 1")
        return Counter(dict(rows.fetchall()))

    def archived(self, file: str, length: int | None = None) -> int:
        """Notes, or tells, how many bytes of an archive are of committed answers."""
        if length is None:
            row = self._db.execute("SELECT bytes FROM archives WHERE file = ?", (file,)).fetchone()
            return row[0] if row else 0
        self._begin()
        self._db.execute("INSERT OR REPLACE INTO archives VALUES (?, ?)", (file, length))
        return length

    def rows(self, query: str, *values: object) -> Iterator[tuple]:
        """Gives the rows of a query, for those who read what was gathered."""
        return iter(self._db.execute(query, values))

    def commit(self) -> None:
        """Makes all changes so far durable, as one."""
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Closes the file; changes since the last commit are dropped."""
        self._db.close()

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _knows(self, url: str) -> bool:
        return self._db.execute("SELECT 1 FROM addresses WHERE url = ?", (url,)).fetchone() is not None

    def _done(self, url: str, etag: str = "", modified: str = "") -> None:
        self._begin()
        self._db.execute(
            "UPDATE addresses SET state = 'done', reason = NULL, target = NULL, etag = ?, modified = ? WHERE url = ?",
            (etag or None, modified or None, url),
        )


def time_of(microseconds: int | None) -> datetime | None:
    """Reads a stored time."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC) if microseconds is not None else None


def _microseconds(time: datetime) -> int:
    return round(time.timestamp() * 1e6)
