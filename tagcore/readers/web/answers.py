"""From an answer's bytes to what it gives, as plain data, and from there into a collection."""

import hashlib
import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tagcore.readers.web.charsets import decode_page, whole_letters
from tagcore.readers.web.collection import MOST_FOLLOWING, Address, Collection
from tagcore.readers.web.feed import Feed, FeedItem, looks_like_feed, read_feed
from tagcore.readers.web.near_duplicates import fingerprint
from tagcore.readers.web.page import Page, read_page, read_plain
from tagcore.readers.web.robots_tag import may_be_stored
from tagcore.readers.web.sitemap import looks_like_sitemap, read_sitemap
from tagcore.readers.web.xml_events import BadXml

_TEXT_TYPES = ("", "text/html", "text/plain", "text/xml", "application/xhtml+xml", "application/xml")
_FEED_ENDING = "+xml"  # application/rss+xml, application/atom+xml, application/rdf+xml


class NotTaken(Exception):
    """An answer that is not taken, and why, in the words by which such are counted."""


def is_text(content_type: str) -> bool:
    """Whether an answer of this type, or of none, may be a page, a feed or a sitemap."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind in _TEXT_TYPES or kind.endswith(_FEED_ENDING)


def parse_body(role: str, url: str, content_type: str, body: bytes) -> dict[str, Any]:
    """Reads a feed, a sitemap or a page, whichever it is: {"feed" | "sitemap" | "page": …}, or {"refused": why}."""
    return _in_whole_letters(_parse(role, url, content_type, body))


def _in_whole_letters(found: Any) -> Any:
    """Mends all texts of plain data: JSON inside a page, or a reference in a feed, may name half a letter."""
    if isinstance(found, str):
        return whole_letters(found)
    if isinstance(found, dict):
        return {name: _in_whole_letters(value) for name, value in found.items()}
    return [_in_whole_letters(value) for value in found] if isinstance(found, list | tuple) else found


def _parse(role: str, url: str, content_type: str, body: bytes) -> dict[str, Any]:
    try:
        if role != "page" and looks_like_feed(body):
            feed = asdict(read_feed(body, url, content_type))
            for item in feed["items"]:
                item["time"] = item["time"].isoformat() if item["time"] else None
            return {"feed": feed}
        if role != "page" and looks_like_sitemap(body):
            return {"sitemap": asdict(read_sitemap(body, url))}
        if role == "sitemap":
            return {"refused": "not a sitemap"}
        if role == "page" and (looks_like_feed(body) or looks_like_sitemap(body)):
            return {"refused": "a list and no page"}
        text = decode_page(body, content_type)
        page = read_plain(text) if content_type.startswith("text/plain") else read_page(text, url)
    except (BadXml, ValueError):
        return {"refused": "not readable"}
    plain = asdict(page)
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode(errors="replace")).hexdigest()
    return {"page": plain, "fingerprint": fingerprint(page.whole_text), "digest": digest}


def _page_of(plain: dict[str, Any]) -> Page:
    """Makes a page of its plain data."""
    pairs = tuple((user, tag) for user, tag in plain["taggings"])
    return Page(**plain | {"tags": tuple(plain["tags"]), "taggings": pairs, "feeds": tuple(plain["feeds"])})


def _feed_of(plain: dict[str, Any]) -> Feed:
    """Makes a feed of its plain data."""
    items = [
        FeedItem(**i | {"time": datetime.fromisoformat(i["time"]) if i["time"] else None, "tags": tuple(i["tags"])})
        for i in plain["items"]
    ]
    return Feed(items, plain["following"])


def store_answer(
    collection: Collection,
    address: Address,
    found: dict[str, Any],
    now: datetime,
    night: int,
    sitemaps: tuple[str, ...] = (),
    robots_tag: str = "",
    **validators: str,
) -> tuple[str, list[Address]]:
    """Stores what `parse_body` found; gives what it was (lists, new, changed, same) and what is now to be fetched.

    `sitemaps` are those of the site, where the address is its front page. What `robots_tag` says is of pages alone:
    sites send it with sitemaps and feeds lest these be found, not lest they be read.
    """
    if "refused" in found:
        raise NotTaken(found["refused"])
    if "feed" in found:
        return "lists", collection.store_feed(address, _feed_of(found["feed"]), night, **validators)
    deeper = address.hops + 1
    if "sitemap" in found:
        listed = [(url, "page", 0) for url in found["sitemap"]["pages"]]
        if deeper <= MOST_FOLLOWING:
            listed += [(url, "sitemap", deeper) for url in found["sitemap"]["sitemaps"]]
    else:
        page = _page_of(found["page"])
        listed = [(url, "feed", 0) for url in page.feeds] + [(url, "sitemap", 0) for url in sitemaps]
        if address.role == "page" or not listed:
            if not (page.indexed and may_be_stored(robots_tag)):
                collection.withdraw(address)
                raise NotTaken("not to be stored")
            if not page.whole_text.strip() and not page.title:
                raise NotTaken("no text")
            mark, digest = found["fingerprint"], found["digest"]
            return collection.store_page(address, page, mark, digest, now, night, **validators), []
    # a sitemap, or the front door of a site, which is no document
    new = [Address(url, role, hops) for url, role, hops in listed if collection.add(url, role, hops)]
    collection.done(address, **validators)
    return "lists", new
