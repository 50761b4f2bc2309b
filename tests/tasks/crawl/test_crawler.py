"""Single answers of a server, and what they may not do to a crawl."""

import pytest

from tasks.crawl.crawler import Crawler
from tasks.demo_site.server import served
from tasks.demo_site.site import SiteAnswer
from tests.tasks.crawl.routes import RoutedSite, gathered, note, one_night


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
