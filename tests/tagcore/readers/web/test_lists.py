"""Feeds and sitemaps."""

import pytest

from tagcore.readers.web.feed import looks_like_feed, read_feed
from tagcore.readers.web.sitemap import read_sitemap
from tagcore.readers.web.xml_events import BadXml, read_xml

HERE = "https://example.org/feed"
LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


def test_an_atom_feed_tells_who_tagged_what_when():
    body = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><link rel="next" href="?page=2"/>
    <entry><title>Rye &amp; wheat</title><link href="/rye?utm_source=feed"/><author><name>ann</name></author>
    <published>2024-05-01T12:00:00Z</published><category term="bread"/><category term="bread"/><category term="rye"/>
    <summary type="html">&lt;p&gt;All about &lt;b&gt;rye&lt;/b&gt;&lt;/p&gt;</summary></entry>
    <entry><title>no address</title></entry></feed>"""
    feed = read_feed(body.encode(), HERE)
    (item,) = feed.items
    assert (item.url, item.title, item.user) == ("https://example.org/rye", "Rye & wheat", "ann")
    assert item.tags == ("bread", "rye")
    assert item.summary == "All about rye"
    assert item.time is not None
    assert item.time.isoformat() == "2024-05-01T12:00:00+00:00"
    assert feed.following == "https://example.org/feed?page=2"


def test_rss_is_read_too():
    body = b"""<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><item><link>http://a.org/</link>
    <dc:creator>ben</dc:creator><category>soup</category><pubDate>Wed, 01 May 2024 12:00:00 GMT</pubDate></item>
    </channel></rss>"""
    (item,) = read_feed(body, HERE).items
    assert (item.url, item.user, item.tags) == ("http://a.org/", "ben", ("soup",))


def test_an_id_is_an_address_only_where_it_looks_like_one():
    ids = ("12345", "/a", "urn:x:1", "https://example.org/b")
    entries = "".join(f'<item><title>t</title><guid isPermaLink="false">{id_}</guid></item>' for id_ in ids)
    body = f'<rss version="2.0"><channel><title>t</title>{entries}</channel></rss>'
    assert [item.url for item in read_feed(body.encode(), HERE).items] == ["https://example.org/b"]


@pytest.mark.parametrize(
    ("head", "feed"),
    [
        (b'<?xml version="1.0"?>\n<!-- rss --><rss version="2.0">', True),
        (b"\xef\xbb\xbf<rdf:RDF xmlns:rdf='x'>", True),
        (b"<!doctype html><title>Rye</title><p><svg><metadata><rdf:RDF>", False),
        (b"<HTML><svg><metadata><rdf:RDF>", False),
        (b"<title>Rye</title><svg ><metadata><rdf:RDF>", False),
    ],
)
def test_a_page_with_data_in_its_pictures_is_no_feed(head, feed):
    assert looks_like_feed(head) is feed


@pytest.mark.parametrize("body", [LAUGHS + b"<rss><channel/></rss>", b"<html>no feed</html>", b"", b"\0" * 100])
def test_what_is_no_feed_or_declares_entities_is_refused(body):
    with pytest.raises(BadXml):
        read_feed(body, HERE)


def test_a_sitemap_lists_pages_and_sitemaps():
    head = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    body = f"{head}<url><loc> /a </loc></url><url><loc>ftp://x/</loc></url><loc>/stray</loc></urlset>"
    assert read_sitemap(body.encode(), HERE).pages == ["https://example.org/a"]
    index = "<sitemapindex><sitemap><loc>https://example.org/s.xml</loc></sitemap></sitemapindex>"
    assert read_sitemap(index.encode(), HERE).sitemaps == ["https://example.org/s.xml"]


def test_pictures_and_videos_of_a_page_are_no_pages():
    picture = '<i:image xmlns:i="http://www.google.com/schemas/sitemap-image/1.1"><i:loc>/a.png</i:loc></i:image>'
    found = read_sitemap(f"<urlset><url>{picture}<loc>/a</loc>{picture}</url></urlset>".encode(), HERE)
    assert (found.pages, found.sitemaps) == (["https://example.org/a"], [])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (LAUGHS + b"<x>&b;</x>", "declares entities"),
        (LAUGHS.decode().encode("utf-16") + "<x/>".encode("utf-16-le"), "declares entities"),
        (b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>', "declares entities"),
        (b"<x>" * 1000, "inside one another"),
        (b"<x>", "not well-formed"),
        (b'<?xml version="1.0" encoding="no-such"?><x/>', "XML"),
    ],
)
def test_hostile_xml_does_no_harm(body, message):
    with pytest.raises(BadXml, match=message):
        read_xml([body], lambda name, attributes: None)
