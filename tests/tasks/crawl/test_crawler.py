"""Single answers of a server, and what they may not do to a crawl."""

import sqlite3
from contextlib import closing

import pytest

from tagcore.readers import open_source
from tasks.crawl.crawler import Crawler
from tasks.crawl.night import STATE
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
