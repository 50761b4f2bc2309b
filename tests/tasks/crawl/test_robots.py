"""The rules of a site, however they are sent."""

import asyncio
import gzip

import pytest

from tasks.crawl.fetch import Fetcher
from tasks.crawl.robots import SiteRules, read_rules
from tasks.data_settings import CrawlSettings
from tasks.demo_site.server import served
from tasks.demo_site.site import SiteAnswer
from tests.tasks.crawl.routes import RoutedSite, text

RULES = b"User-agent: *\nDisallow: /private/\n"
LONG = RULES + b"# nothing\n" * 60_000 + b"Disallow: /\n"


def rules_of(answer: SiteAnswer, **settings) -> tuple[SiteRules, str]:
    async def asked(address: str) -> SiteRules:
        fetcher = Fetcher(CrawlSettings(**settings), "tests", {("127.0.0.1", int(address.rpartition(":")[2]))})
        try:
            return await read_rules(fetcher, address)
        finally:
            await fetcher.close()

    with served(RoutedSite({"/robots.txt": answer})) as address:
        return asyncio.run(asked(address)), address


@pytest.mark.parametrize(
    "answer",
    [
        text(RULES),
        text(b"\xef\xbb\xbf" + RULES),
        text(RULES, "application/octet-stream"),
        text(gzip.compress(RULES), content_encoding="gzip"),
        text(LONG),
        text(gzip.compress(LONG), content_encoding="gzip"),
    ],
    ids=["plain", "with a byte order mark", "as bytes", "packed", "long", "long and packed"],
)
def test_rules_are_heeded_however_they_are_sent(answer):
    rules, address = rules_of(answer, page_bytes=1024)
    assert not rules.allow(f"{address}/private/x")
    assert rules.allow(f"{address}/x")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (text(RULES, content_encoding="br"), "unknown encoding"),
        (text(RULES, content_encoding="gzip"), "damaged body"),
    ],
)
def test_a_site_whose_rules_cannot_be_unpacked_is_left_alone(answer, why):
    rules, address = rules_of(answer)
    assert not rules.allow(f"{address}/x")
    assert rules.closed == f"robots.txt not to be had: {why}"


def test_a_rule_that_is_cut_in_two_is_none():
    line = b"Disallow: /private/\n"
    answer = text(b"User-agent: *\n" + b"#" * ((500 << 10) - 14 - 11 - 1) + b"\n" + line)  # cut after its first slash
    rules, address = rules_of(answer)
    assert rules.allow(f"{address}/x")


@pytest.mark.parametrize(
    ("wish", "seconds"),
    [
        ("Crawl-delay: 5", 5.0),
        ("Crawl-delay: -1", 0.0),
        ("Request-rate: 1/10", 10.0),
        ("Request-rate: 0/10", 0.0),
        ("Crawl-delay: inf", 0.0),
        ("Crawl-delay: 86400", None),
    ],
)
def test_a_site_that_wants_more_than_a_minute_between_requests_is_left_alone(wish, seconds):
    rules, _ = rules_of(text(f"User-agent: *\n{wish}\n"))
    if seconds is None:
        assert rules.closed == "robots.txt wants more than 60 s between requests"
    else:
        assert (rules.delay, rules.closed) == (seconds, "")
