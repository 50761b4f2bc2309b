"""Single answers of a server, and what they may not do to a crawl."""

import sqlite3
from contextlib import closing

import pytest

from tagcore.readers import open_source
from tagcore.readers.web.collection import Collection
from tagcore.readers.web.feed import FeedItem
from tagcore.readers.web.gathered import GatheredDocuments
from tasks.crawl.crawl_run import STATE
from tasks.crawl.crawler import Crawler
from tasks.demo_site.server import served
from tasks.demo_site.site import SiteAnswer
from tests.tasks.crawl.routes import RoutedSite, gathered, note, one_night, text


def test_no_header_of_one_server_ends_a_crawl(tmp_path):
    routes = {
        "/rye": note("rye"),
        "/digit": SiteAnswer(503, headers={"retry-after": "\xb2"}),
        "/letters": note("letters", etag='"caf\xe9"', last_modified="lundi, 1 ao\xfbt"),
    }
    with served(RoutedSite(routes)) as address:
        for _ in range(2):
            counts = one_night(tmp_path, [address + path for path in routes])
            assert counts.refused == {"status 503": 1}
    assert counts.same == 2
    assert [row["title"] for row in gathered(tmp_path)] == ["rye", "letters"]


def test_an_error_that_nobody_thought_of_costs_one_page_and_is_counted(tmp_path, monkeypatch):
    read = Crawler._read

    async def stumbles(self, site, address, *more):
        if address.url.endswith("/odd"):
            raise ArithmeticError
        await read(self, site, address, *more)

    monkeypatch.setattr(Crawler, "_read", stumbles)
    with served(RoutedSite({"/odd": note("odd"), "/rye": note("rye")})) as address:
        counts = one_night(tmp_path, [address + "/odd", address + "/rye"])
    assert (counts.new, counts.refused) == (1, {"failed: ArithmeticError": 1})


def test_a_full_disk_ends_a_crawl(tmp_path, monkeypatch):
    def full(*answer):
        raise OSError("no space left")

    monkeypatch.setattr("tasks.crawl.archive.Archive.write", full)
    with served(RoutedSite({"/rye": note("rye")})) as address, pytest.raises(OSError, match="no space left"):
        one_night(tmp_path, [address + "/rye"])


def test_the_delay_of_a_site_holds_from_its_first_page_on(tmp_path):
    site = RoutedSite({f"/{n}": note(f"page{n}") for n in range(5)})
    site.routes["/robots.txt"] = text("User-agent: *\nCrawl-delay: 0.2\n")
    with served(site) as address:
        assert one_night(tmp_path, [f"{address}/{n}" for n in range(5)]).new == 5
    (begun, first), *pages = site.asked
    assert first == "/robots.txt"
    assert all(when - begun >= 0.2 * number for number, (when, _) in enumerate(pages, 1))


def busy_at_first(times: int, status: int = 429, **headers: str):
    asked = iter(range(times))

    def answer(_):
        busy = SiteAnswer(status, headers={name.replace("_", "-"): value for name, value in headers.items()})
        return busy if next(asked, None) is not None else note("busy")

    return answer


@pytest.mark.parametrize("status", [429, 503])
def test_a_site_that_is_busy_is_asked_for_nothing_until_it_says_so(tmp_path, status):
    site = RoutedSite({"/0": busy_at_first(1, status, retry_after="1"), "/1": note("one"), "/2": note("two")})
    with served(site) as address:
        counts = one_night(tmp_path, [f"{address}/{n}" for n in range(3)], per_host=1)
    assert (counts.new, counts.retried) == (3, 1)
    (busy, path), *others = [(when, path) for when, path in site.asked if path != "/robots.txt"]
    assert path == "/0"
    assert len(others) == 3
    assert all(when - busy >= 1.0 for when, _ in others)


def test_a_site_that_stays_busy_is_left_alone_for_the_night(tmp_path):
    site = RoutedSite({f"/{n}": SiteAnswer(429) for n in range(20)})
    with served(site) as address:
        counts = one_night(tmp_path, [f"{address}/{n}" for n in range(20)], retries=2)
    assert counts.refused == {"status 429": 20}
    assert len(site.paths) <= 3 * 4  # as often as one page is asked for, by each request that may be under way


def test_what_came_is_kept_while_a_site_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.crawl.crawler._COMMIT_SECONDS", 0.3)
    seen = []

    def state_of_the_first(_):
        with closing(sqlite3.connect(tmp_path / STATE)) as db:
            seen.append(db.execute("SELECT state FROM addresses ORDER BY url").fetchone()[0])
        return SiteAnswer(429, headers={"retry-after": "1"}) if len(seen) == 1 else note("two")

    with served(RoutedSite({"/1": note("one"), "/2": state_of_the_first})) as address:
        one_night(tmp_path, [f"{address}/1", f"{address}/2"], per_host=1)
    assert seen[-1] == "done"


def test_a_sitemap_that_is_not_to_be_found_is_read(tmp_path):
    twice = {"X-Robots-Tag": "none", "x-robots-tag": "all"}
    site = RoutedSite({"/rye": note("rye"), "/hidden": note("hidden", **twice)})
    with served(site) as address:
        listed = "".join(f"<url><loc>{address}{path}</loc></url>" for path in site.routes)
        sitemap = f"<urlset>{listed}</urlset>"
        site.routes["/sitemap.xml"] = text(sitemap, "text/xml", x_robots_tag="noindex, follow")
        counts = one_night(tmp_path, [address + "/sitemap.xml"])
    assert (counts.lists, counts.new, counts.refused) == (1, 1, {"not to be stored": 1})


def test_a_page_whose_author_takes_it_back_goes(tmp_path):
    def hidden(headers):
        return SiteAnswer(304) if "if-none-match" in headers else note("oats", "<meta name=robots content=noindex>")

    site = RoutedSite({"/rye": note("rye"), "/oats": note("oats", etag='"1"')})
    titles = []
    with served(site) as address:
        for oats in (site.routes["/oats"], note("oats", x_robots_tag="noindex"), hidden, note("oats")):
            site.routes["/oats"] = oats
            one_night(tmp_path, [address + "/rye", address + "/oats"])
            titles.append([row["title"] for row in gathered(tmp_path)])
    assert titles == [["rye", "oats"], ["rye"], ["rye"], ["rye", "oats"]]


@pytest.mark.parametrize("letters", ["utf-8", "latin-1"])
def test_a_redirect_may_be_written_in_letters(tmp_path, letters):
    moved = SiteAnswer(301, headers={"location": "/caf\xe9".encode(letters).decode("latin-1")})
    with served(RoutedSite({"/old": moved, "/caf%C3%A9": note("cafe")})) as address:
        assert one_night(tmp_path, [address + "/old"]).new == 1
    archived = open_source(tmp_path / "night-00001.warc.gz").blocks()
    assert [id_ for block in archived for id_ in block.documents["id"].to_pylist()] == [address + "/caf%C3%A9"]


def to(path: str) -> SiteAnswer:
    return SiteAnswer(301, headers={"location": path})


def test_a_page_that_moves_is_one_document_with_the_tags_of_both(tmp_path):
    site = RoutedSite({"/old": note("before")})
    with served(site) as address:
        told = [FeedItem(address + "/old", "A", None, "ann", None, ("bread",))]
        one_night(tmp_path, [], told)
        site.routes |= {"/old": to("/new"), "/new": SiteAnswer(500)}
        one_night(tmp_path, [], told)
        assert ids_and_tags(tmp_path) == [(address + "/old", ["bread"])]  # the new one has given nothing yet
        site.routes["/new"] = note("after")
        for _ in range(2):
            one_night(tmp_path, [], told)
            assert ids_and_tags(tmp_path) == [(address + "/new", ["bread"])]


def ids_and_tags(folder):
    collection = Collection(folder / STATE)
    found = GatheredDocuments(collection)
    (block,) = found.blocks()
    collection.close()
    tags = [[] for _ in found._order]
    for tagging in block.taggings.to_pylist():
        tags[tagging["document"]].append(list(found.tags)[tagging["tag"]])
    return list(zip(block.documents["id"].to_pylist(), tags, strict=True))


def test_a_redirect_that_is_turned_round_is_no_circle(tmp_path):
    site = RoutedSite({"/a": to("/b"), "/b": note("before")})
    with served(site) as address:
        one_night(tmp_path, [address + "/a"])
        site.routes |= {"/a": SiteAnswer(503), "/b": to("/a")}
        assert one_night(tmp_path, [address + "/a"], retries=0).refused == {"status 503": 1}
        assert [row["title"] for row in gathered(tmp_path)] == ["before"]  # a circle of two nights loses nothing
        site.routes["/a"] = note("after")
        assert one_night(tmp_path, [address + "/a"]).refused == {}
    assert [(row["id"], row["title"]) for row in gathered(tmp_path)] == [(address + "/a", "after")]
    (archives := tmp_path / "archives").mkdir()
    for path in tmp_path.glob("*.warc.gz"):
        path.rename(archives / path.name)
    replayed = [id_ for block in open_source(archives).blocks() for id_ in block.documents["id"].to_pylist()]
    assert replayed == [address + "/a"]


def test_a_picture_stays_when_it_cannot_be_had_and_is_marked_when_it_is_gone(tmp_path):
    site = RoutedSite({"/cat.png": SiteAnswer(200, b"x", {"content-type": "image/png"})})
    marked = []
    with served(site) as address:
        told = [FeedItem(address + "/cat.png", "A cat", "a grey cat", "ann", None, ("cat",))]
        for answer in (site.routes["/cat.png"], SiteAnswer(503), SiteAnswer(404), site.routes["/cat.png"]):
            site.routes["/cat.png"] = answer
            vanished = one_night(tmp_path, [], told, retries=0).vanished
            marked += [(row["id"], row["vanished_at"] is not None, vanished) for row in gathered(tmp_path)]
    assert marked == [(address + "/cat.png", gone, int(gone)) for gone in (False, False, True, False)]


def test_the_limit_of_addresses_holds_every_night(tmp_path):
    site = RoutedSite({f"/{n}": note(f"page{n}") for n in range(10, 30)})
    with served(site) as address:
        listed = "".join(f"<url><loc>{address}{path}</loc></url>" for path in site.routes)
        site.routes["/sitemap.xml"] = text(f"<urlset>{listed}</urlset>", "text/xml")
        told = [FeedItem(address + "/29", tags=("a",))]
        for limit, asked, left_out in ((5, 5, 16), (5, 5, 16 + 1), (3, 3, 16 + 1 + 2)):  # at last fewer than it knows
            site.asked.clear()
            counts = one_night(tmp_path, [address + "/sitemap.xml"], told, addresses=limit)
            told = [*told, FeedItem(address + "/beyond", tags=("b",))][:2]
            assert len(site.paths) == asked
            assert counts.refused == {"beyond the limit of addresses": left_out}
    assert len(gathered(tmp_path)) == 4
    with closing(Collection(tmp_path / STATE)) as collection:
        assert list(collection.rows("SELECT url, tag FROM taggings")) == [(address + "/29", "a")]
