"""What a site asks of robots: which pages they leave alone, how long they wait, where its sitemaps are."""

from dataclasses import dataclass, field

from protego import Protego

from tagcore.readers.web.answers import NotTaken
from tagcore.readers.web.robots_tag import NAME
from tagcore.readers.web.urls import BadUrl, canonical_url
from tasks.crawl.fetch import PRIVATE, Answer, Fetcher

_MOST_BYTES = 500 << 10  # what has to be read of one, by RFC 9309
_MOST_REDIRECTS = 5
_LONGEST_DELAY = 60.0  # seconds; with more a site of any size would take days


@dataclass(frozen=True)
class SiteRules:
    """The rules of one site; without any, all is allowed."""

    rules: Protego | None = None
    closed: str = ""  # why nothing may be fetched: where rules cannot be had, there is no leave (RFC 9309)
    sitemaps: list[str] = field(default_factory=list)

    def allow(self, url: str) -> bool:
        """Whether a page may be fetched."""
        return not self.closed and (self.rules is None or self.rules.can_fetch(url, NAME))

    @property
    def delay(self) -> float:
        """Seconds that the site wants between two requests."""
        if self.rules is None:
            return 0.0
        rate = self.rules.request_rate(NAME)
        return max(float(self.rules.crawl_delay(NAME) or 0.0), rate.seconds / rate.requests if rate else 0.0)


async def read_rules(fetcher: Fetcher, origin: str) -> SiteRules:
    """Asks a site for its rules; Unreachable where it must be asked again."""
    url = f"{origin}/robots.txt"
    for _ in range(_MOST_REDIRECTS + 1):
        try:
            answer = await fetcher.get(url, first=_MOST_BYTES)
        except NotTaken as error:
            return SiteRules(closed=str(error) if str(error) == PRIVATE else not_had(str(error)))
        if answer.status == 200:
            return _parse(answer, url)
        if not (300 <= answer.status < 400 and "location" in answer.headers):
            return SiteRules()
        try:
            url = canonical_url(answer.headers["location"], base=url)
        except BadUrl:
            return SiteRules()
    return SiteRules()


def not_had(why: str) -> str:
    """Tells why a site is left alone whose rules are not known."""
    return f"robots.txt not to be had: {why}"


def _parse(answer: Answer, url: str) -> SiteRules:
    body = answer.body
    if len(body) == _MOST_BYTES:
        body = body.rpartition(b"\n")[0]  # half a line would be another rule
    rules = Protego.parse(body.decode("utf-8-sig", errors="replace"))
    if SiteRules(rules).delay > _LONGEST_DELAY:
        return SiteRules(closed=f"robots.txt wants more than {_LONGEST_DELAY:.0f} s between requests")
    sitemaps = []
    for address in rules.sitemaps:
        try:
            sitemaps.append(canonical_url(address, base=url))
        except BadUrl:
            continue
    return SiteRules(rules, sitemaps=sitemaps)
