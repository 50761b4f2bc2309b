"""Feeds, RSS and Atom: what is new on a site, and on a bookmarking site who tagged it how."""

import calendar
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tagcore.readers.lengths import LONGEST
from tagcore.readers.web.charsets import decode_page
from tagcore.readers.web.urls import BadUrl, canonical_url, is_url
from tagcore.readers.web.xml_events import BadXml
from tagcore.text.html import strip_html

MOST_ITEMS = 10_000
_FEED = re.compile(rb"<(?:\w+:)?(?:rss|feed|RDF)[\s>]")
_HTML = re.compile(rb"<(?:html|head|body|svg|!doctype\s+html)\b", re.IGNORECASE)
_ENTITIES = re.compile(r"<!ENTITY", re.IGNORECASE)
_LONGEST_SUMMARY = 100_000


@dataclass(frozen=True)
class FeedItem:
    """One entry: a page, and perhaps who tagged it when."""

    url: str
    title: str | None = None
    summary: str | None = None
    user: str | None = None
    time: datetime | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Feed:
    """The entries of one document, and where the older ones are."""

    items: list[FeedItem] = field(default_factory=list)
    following: str | None = None  # the next page of a feed in pages


def looks_like_feed(head: bytes) -> bool:
    """Whether a document begins as a feed, and not as a page with data in its pictures."""
    root = _FEED.search(head[:2000])
    return root is not None and not _HTML.search(head[: root.start()])


def read_feed(body: bytes, url: str, content_type: str = "") -> Feed:
    """Reads a feed; entries without an address are left out. BadXml where it is none, or declares entities."""
    import feedparser  # a feed is rarely what a command is about, and this costs its start-up

    text = decode_page(body, content_type)
    if _ENTITIES.search(text):
        raise BadXml("declares entities, which are not read")
    # as UTF-8, whatever the document claims: the claim has been heard
    text = re.sub(r"^\s*<\?xml[^>]{0,200}\?>", "", text)
    try:
        parsed = feedparser.parse(
            text.encode(errors="replace"),
            response_headers={"content-type": "application/xml; charset=utf-8"},
            sanitize_html=False,  # all markup goes
            resolve_relative_uris=False,
        )
    except Exception as error:  # of a parser of hostile input any may come; it has no effects
        raise BadXml(f"not readable as a feed ({type(error).__name__})") from None
    if not parsed.get("version") and not parsed.get("entries"):
        raise BadXml("neither RSS nor Atom")
    items = [item for entry in parsed["entries"][:MOST_ITEMS] if (item := _item(entry, url)) is not None]
    return Feed(items, _following(parsed.get("feed", {}), url))


def _item(entry: Any, base: str) -> FeedItem | None:
    id_ = entry.get("id") or ""
    named = entry.get("link") or (id_ if is_url(id_) else "")  # an id may be any number
    if not named:
        return None
    try:
        address = canonical_url(named, base=base)
    except BadUrl:
        return None
    tags = (str(tag.get("term") or tag.get("label") or "").strip() for tag in entry.get("tags", ()))
    return FeedItem(
        address,
        _plain(entry.get("title"), LONGEST["title"]),
        _plain(entry.get("summary"), _LONGEST_SUMMARY),
        (entry.get("author") or "").strip()[: LONGEST["user"]] or None,
        _time(entry),
        tuple(dict.fromkeys(tag for tag in tags if tag and len(tag) <= LONGEST["tag"])),
    )


def _plain(text: Any, longest: int) -> str | None:
    if not isinstance(text, str):
        return None
    try:
        return " ".join(strip_html(text[: 4 * longest]).split())[:longest] or None
    except ValueError:
        return None


def _time(entry: Any) -> datetime | None:
    for name in ("published_parsed", "updated_parsed"):
        if parsed := entry.get(name):
            try:
                return datetime.fromtimestamp(calendar.timegm(parsed), UTC)
            except (ValueError, OverflowError, OSError):
                return None
    return None


def _following(feed: Any, base: str) -> str | None:
    for link in feed.get("links", ()):
        if link.get("rel") in ("next", "prev-archive"):
            try:
                return canonical_url(link.get("href", ""), base=base)
            except BadUrl:
                return None
    return None
