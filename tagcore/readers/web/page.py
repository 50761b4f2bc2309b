"""A page as a document: title, main text, language, its own tags, and what surrounds a picture or a video."""

import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tagcore.readers.lengths import LONGEST
from tagcore.readers.web.robots_tag import NAME, may_be_stored
from tagcore.readers.web.urls import BadUrl, canonical_url, origin_of
from tagcore.text.html import check_nesting, strip_html

LONGEST_TEXT = 1_000_000  # characters of a page's main text
MOST_TAGS = 200
_LITTLE_TEXT = 300  # characters: a page with less of its own is about what it shows
_MEDIA = re.compile(r"^(?:video|image|music|photo|Video\w*|Image\w*|Photograph|AudioObject|MusicRecording)")
_SURROUNDING = {
    "captions": "figcaption, [itemprop=caption]",
    "comments": "[itemprop=comment], .comment, .comments li, #comments li",
    "related": "[rel~=related], .related a, #related a",
}
_REPEATED = ("article:tag", "robots", NAME)  # meta elements of which all count, not the first alone
_BOOKMARK = ".xfolkentry, .hreview"
_MOST_BOOKMARKS = 10_000
_MOST_PIECES = 200  # of each of these


@dataclass(frozen=True)
class Page:
    """What a page gives."""

    title: str | None
    text: str
    language: str | None
    canonical: str | None
    tags: tuple[str, ...] = ()
    taggings: tuple[tuple[str, str], ...] = ()  # (user, tag) where the page tells who tagged it
    feeds: tuple[str, ...] = ()
    indexed: bool = True  # whether its author lets it be stored
    media: bool = False
    surroundings: dict[str, str] = field(default_factory=dict)

    @property
    def whole_text(self) -> str:
        """The main text; of a page that shows a picture or a video, all that is said around it."""
        return "\n".join([self.text, *self.surroundings.values()] if self.media else [self.text]).strip()


def read_page(html: str, url: str) -> Page:
    """Reads one page; ValueError where it is nested so deeply that it is none."""
    check_nesting(html)
    tree = LexborHTMLParser(html)
    head = _metadata(tree)
    title = _first(head.get("og:title"), _text(tree.css_first("title")), _text(tree.css_first("h1")))
    linked = _linked_data(tree)
    taggings = tuple(dict.fromkeys(_taggings(tree)))
    tags = tuple(dict.fromkeys(_tags(tree, head, linked)))
    text = _main_text(_without_tags(html, tree), tree)[:LONGEST_TEXT]
    text = text.removeprefix(title or "").lstrip()  # a heading that says it once more
    kinds = (head.get("og:type", ""), *(str(item.get("@type", "")) for item in linked))
    shows = any(_MEDIA.match(kind) for kind in kinds)
    has_media = tree.css_first("figure, video, main img, article img") is not None
    media = shows or (len(text) < _LITTLE_TEXT and has_media)
    return Page(
        title=_clip(title, LONGEST["title"]),
        text=text,
        language=_language(tree, head),
        canonical=_canonical(tree, url),
        tags=tags,
        taggings=taggings,
        feeds=tuple(dict.fromkeys(_feeds(tree, url))),
        indexed=all(may_be_stored(head.get(name, "")) for name in ("robots", NAME)),
        media=media,
        surroundings=_surroundings(tree, head, title, text) if media else {},
    )


def read_plain(text: str) -> Page:
    """Takes a page of plain text; its first line is its title."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return Page(_clip(first, 200), text[:LONGEST_TEXT], None, None)


def _without_tags(html: str, tree: LexborHTMLParser) -> str:
    """Takes tags and who gave them out of the page: what is to be guessed must not stand in the text."""
    tags = tree.css(f'{_BOOKMARK}, a[rel~="tag"]')
    for node in tags:
        node.remove()
    return (tree.html or "") if tags else html


def _main_text(html: str, tree: LexborHTMLParser) -> str:
    """The main text as trafilatura finds it; of a page without any, all that is visible."""
    extract, options = _extraction()
    try:
        found: Any = extract(html, options=options)
    except Exception:  # of hostile HTML any may come; it has no effects
        found = None
    if found is not None and found.text:
        return found.text.strip()
    body = tree.body
    return strip_html(body.html or "", len(html) * 8 + 1000) if body is not None else ""


@cache
def _extraction() -> tuple[Callable[..., Any], Any]:
    """What finds main texts, and how; imported late, as a command that reads no page need not wait for it."""
    from trafilatura import bare_extraction
    from trafilatura.settings import Extractor

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # else it tells of every page without a text
    return bare_extraction, Extractor(output_format="python", fast=True, comments=False)


def _metadata(tree: LexborHTMLParser) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        name = attributes.get("name") or attributes.get("property") or attributes.get("http-equiv")
        if name and (content := attributes.get("content")):
            known = found.get(name.lower())
            found[name.lower()] = f"{known}, {content}" if known and name.lower() in _REPEATED else known or content
    return found


def _linked_data(tree: LexborHTMLParser) -> list[dict[str, Any]]:
    """Objects of JSON-LD, those of a graph one by one."""
    found: list[dict[str, Any]] = []
    for node in tree.css('script[type="application/ld+json"]')[:20]:
        try:
            parsed = json.loads(node.text() or "")
        except (ValueError, RecursionError):
            continue
        items = parsed if isinstance(parsed, list) else [parsed]
        for item in items[:100]:
            if isinstance(item, dict):
                graph = item.get("@graph")
                found += [i for i in (graph if isinstance(graph, list) else [item])[:100] if isinstance(i, dict)]
    return found


def _tags(tree: LexborHTMLParser, head: dict[str, str], linked: list[dict[str, Any]]) -> Iterator[str]:
    """Tags that the page gives itself: its rel=tag links; where there are none, its keywords."""
    links = [_text(node) for node in tree.css('a[rel~="tag"]')[:MOST_TAGS]]
    given = [link.lstrip("#").strip() for link in links if link]
    if not given:
        words = [head.get("article:tag", ""), head.get("keywords", "")]
        for item in linked:
            keywords = item.get("keywords", "")
            words.append(", ".join(map(str, keywords)) if isinstance(keywords, list) else str(keywords))
        given = [word.strip() for line in words for word in re.split(r"[,;]", line)]
    yield from (tag for tag in given[:MOST_TAGS] if tag and len(tag) <= 100)


def _taggings(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    """Who gave which tag, where bookmarks are marked up as such (xFolk, hReview)."""
    for bookmark in tree.css(_BOOKMARK)[:_MOST_BOOKMARKS]:
        user = _text(bookmark.css_first(".author, .reviewer, [rel~=author]"))[: LONGEST["user"]]
        for node in bookmark.css('a[rel~="tag"]')[:MOST_TAGS] if user else ():
            if (tag := _text(node).lstrip("#").strip()) and len(tag) <= 100:
                yield user, tag


def _feeds(tree: LexborHTMLParser, url: str) -> Iterator[str]:
    for node in tree.css('link[rel~="alternate"][href]')[:20]:
        if "rss" in (kind := node.attributes.get("type") or "") or "atom" in kind:
            try:
                yield canonical_url(node.attributes.get("href") or "", base=url)
            except BadUrl:
                continue


def _canonical(tree: LexborHTMLParser, url: str) -> str | None:
    """The address that the page itself calls its own; only one of the same site is believed."""
    node = tree.css_first('link[rel~="canonical"][href]')
    if node is None:
        return None
    try:
        claimed = canonical_url(node.attributes.get("href") or "", base=url)
    except BadUrl:
        return None
    return claimed if origin_of(claimed) == origin_of(url) else None


def _language(tree: LexborHTMLParser, head: dict[str, str]) -> str | None:
    root = tree.css_first("html")
    claimed = (root.attributes.get("lang") if root is not None else None) or head.get("content-language") or ""
    match = re.match(r"\s*([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]+)*\s*(?:,|$)", claimed)
    return match[1].lower() if match else None


def _surroundings(tree: LexborHTMLParser, head: dict[str, str], title: str | None, text: str) -> dict[str, str]:
    """What is said around a picture or a video: description, captions, names of related things, comments."""
    said: dict[str, list[str | None]] = {"description": [head.get("og:description") or head.get("description")]}
    said |= {name: [_text(node) for node in tree.css(css)[:_MOST_PIECES]] for name, css in _SURROUNDING.items()}
    said["captions"] += [node.attributes.get("alt") for node in tree.css("img[alt]")[:_MOST_PIECES]]
    known = " ".join(f"{title or ''} {text}".split())
    found = {}
    for name, pieces in said.items():
        new = dict.fromkeys(piece for piece in pieces if piece and piece not in known)
        if new:
            found[name] = "\n".join(new)[:LONGEST_TEXT]
    return found


def _text(node: LexborNode | None) -> str:
    return " ".join(node.text(deep=True, separator=" ").split()) if node is not None else ""


def _first(*texts: str | None) -> str | None:
    return next((" ".join(text.split()) for text in texts if text and text.strip()), None)


def _clip(text: str | None, longest: int) -> str | None:
    return text[:longest] if text else None
