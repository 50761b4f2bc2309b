"""Sitemaps: the pages that a site lists itself, and further sitemaps."""

from dataclasses import dataclass, field

from tagcore.readers.web.urls import BadUrl, canonical_url
from tagcore.readers.web.xml_events import BadXml, read_xml

MOST = 50_000  # addresses in one sitemap, by its protocol


@dataclass
class Sitemap:
    """Addresses in the order they stand."""

    pages: list[str] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)


def looks_like_sitemap(head: bytes) -> bool:
    """Whether a document begins as a sitemap or an index of sitemaps."""
    return b"<urlset" in head[:2000] or b"<sitemapindex" in head[:2000]


def read_sitemap(body: bytes, url: str) -> Sitemap:
    """Reads one sitemap; addresses that are none are left out. BadXml where it is no XML."""
    found, inside = Sitemap(), [""]
    letters: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        inside.append(name)
        letters.clear()

    def end(name: str) -> None:
        inside.pop()
        listed = {"url": found.pages, "sitemap": found.sitemaps}.get(inside[-1])  # not that of a picture in a page
        if name != "loc" or listed is None:
            return
        if len(found.pages) + len(found.sitemaps) >= MOST:
            raise BadXml(f"more than {MOST} addresses")
        try:
            listed.append(canonical_url("".join(letters), base=url))
        except BadUrl:
            return

    read_xml([body], start, end, letters.append)
    return found
