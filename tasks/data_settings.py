"""Where a recipe's data come from and how they are read: sources, crawls, tags, pruning of ratings."""

from typing import Any, Literal

from pydantic import Field, field_validator

from tagcore.metrics.measure import LearnsFrom
from tagcore.readers.merged_tags import RULES as TAG_RULES
from tagcore.readers.merged_tags import Rule as TagRule
from tagcore.readers.web.urls import has_login, is_url
from tasks.recipe_part import RecipePart

DEMOS = ("demo", "demo-media", "demo-rings")
DEMO_SITE = "demo-site"

Profiles = Literal["given", "rated items"]


class CrawlSettings(RecipePart):
    """How pages are fetched where a source is an address: how many at once, how long, how much of each."""

    contact: str = Field("", pattern=r"^[\x20-\x7e]{0,200}$", description="an address of yours, told to every site")
    at_once: int = Field(32, ge=1, le=1000, description="requests under way in all")
    per_host: int = Field(4, ge=1, le=100, description="requests under way to one site; one where it asks for a delay")
    delay: float = Field(0.0, ge=0, description="seconds between two requests to one site; more where robots.txt asks")
    seconds: float = Field(30.0, gt=0, description="the longest that one page may take")
    connect_seconds: float = Field(10.0, gt=0)
    page_bytes: int = Field(4 << 20, ge=1024, description="the longest page, expanded")
    parse_seconds: float = Field(20.0, gt=0, description="the longest that finding a page's text may take")
    retries: int = Field(3, ge=0, description="how often a page is asked for again that gave no answer")
    back_off: float = Field(1.0, ge=0, description="seconds before the first of these, doubled for each further")
    redirects: int = Field(5, ge=0, description="how many in a row are followed")
    addresses: int = Field(1_000_000, ge=1, description="how many a crawl may know; what comes later is left out")
    archive: bool = Field(True, description="keep what was fetched as WARC files, from which it can be read again")


class PruningSettings(RecipePart):
    """Of ratings: which tags and users who tag are kept, as papers on tags do before they measure."""

    min_items_per_tag: int = Field(3, ge=0)
    min_tags_per_user: int = Field(3, ge=0)
    min_tags_per_item: int = Field(3, ge=0)
    to_fixed_point: bool = Field(True, description="until nothing changes; else in one pass, which order decides")


class TagSettings(RecipePart):
    """Which spellings are one tag, and which tags are kept."""

    merge: tuple[TagRule, ...] = Field((), description='rules by which spellings are merged; "all" is every rule')
    include: tuple[str, ...] = Field((), description="the only tags to keep, in any spelling")
    exclude: tuple[str, ...] = Field((), description="tags to leave out, in any spelling")

    @field_validator("merge", mode="before")
    @classmethod
    def _all_rules(cls, merge: Any) -> Any:
        return TAG_RULES if merge == "all" else merge

    @property
    def change_anything(self) -> bool:
        """Whether tags are not just as the source has them."""
        return bool(self.merge or self.include or self.exclude)


class DataSettings(RecipePart):
    """What is learnt from, and its source.

    That is `demo`, `demo-media`, `demo-site` (the first as a site to crawl), the path of a file or folder that a
    reader recognises, the address of a feed, a sitemap or a site; or a list of several of these.
    """

    kind: LearnsFrom = Field(
        "documents", description="tags of documents, ratings of items, or the class of each row of numbers"
    )
    source: str | tuple[str, ...] = Field("demo", min_length=1)
    local: bool = Field(False, description="the addresses may be of this machine or of its own network")
    fetch: bool = Field(
        False, description="fetch the pages that the files of the source name, as exports of bookmarks do"
    )
    crawl: CrawlSettings = CrawlSettings()
    tags: TagSettings = TagSettings()
    name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$",
        description="what reports and registered models call it",
    )
    documents: int = Field(4000, ge=10, description="how many documents the demo makes, or rows with a class")
    users: int = Field(1500, ge=10, description="how many users rate in the demo of ratings")
    items: int = Field(400, ge=10, description="how many items are rated in the demo of ratings")
    options: dict[str, Any] = Field(default_factory=dict, description="what the reader of that format takes")
    skip_bad_rows: bool = False
    profiles: Profiles = Field(
        "given",
        description='of ratings: the tags that users gave; "rated items": those of all that they rated to learn from',
    )
    pruning: PruningSettings | None = Field(None, description="of ratings: leave out rare tags, and who hardly tags")

    @property
    def planted(self) -> bool:
        """Whether the source is made up in memory."""
        return self.source in DEMOS

    @field_validator("source")
    @classmethod
    def _named_without_a_login(cls, source: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for one in (source,) if isinstance(source, str) else source:
            if not one:
                raise ValueError("a source without a name, expected a path or an address")
            if is_url(one) and has_login(one):
                raise ValueError("an address with a user or a password, which would be written down; see `logins`")
            if "://" in one and not is_url(one):
                raise ValueError("an address of another kind, expected http:// or https://, or a path")
        return source

    @property
    def sources(self) -> tuple[str, ...]:
        """Every source by itself."""
        return (self.source,) if isinstance(self.source, str) else self.source

    @property
    def only_source(self) -> str:
        """The source where there may be only one; ValueError where there are several."""
        if len(self.sources) > 1:
            raise ValueError(f"data.source names {len(self.sources)} sources, expected one for {self.kind}")
        return self.sources[0]

    @property
    def shown(self) -> str:
        """The source as messages name it."""
        return ", ".join(self.sources)

    @property
    def made_up(self) -> bool:
        """Whether there is no file and no site of anybody's behind it."""
        return self.planted or self.source == DEMO_SITE
