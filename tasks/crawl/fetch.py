"""One request and its answer, within limits that no server can pass."""

import asyncio
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import certifi
import httpcore

from tagcore.readers.web import robots_tag
from tagcore.readers.web.answers import NotTaken, is_text
from tagcore.readers.web.collection import NOT_TEXT
from tagcore.readers.web.urls import host_and_port, origin_of
from tasks.crawl.addresses import CheckedNetwork, Place, RefusedAddress
from tasks.data_settings import CrawlSettings

PRIVATE = "private address"


class Unreachable(Exception):
    """No answer, or one that may be better later; `after` says when the server wants to be asked again.

    A server that is `busy` means all of its pages.
    """

    def __init__(self, reason: str, after: float | None = None, busy: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.after, self.busy = reason, after, busy


@dataclass(frozen=True)
class Answer:
    """What a server said."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes = b""

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def robots_tag(self) -> str:
        return self.headers.get(robots_tag.HEADER, "")

    @property
    def validators(self) -> dict[str, str]:
        """What the next request can ask by whether the page has changed."""
        return {"etag": self.headers.get("etag", ""), "modified": self.headers.get("last-modified", "")}


@dataclass
class Fetcher:
    """Connections that are kept open between requests. Knows neither cookies nor proxies of the environment."""

    settings: CrawlSettings
    user_agent: str
    local: Collection[Place] = ()
    instead: Mapping[Place, Place] = field(default_factory=dict)
    logins: Mapping[str, str] = field(default_factory=dict)  # host -> value of the Authorization header
    _free: dict[str, list[httpcore.AsyncHTTPConnection]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._network = CheckedNetwork(self.local, self.instead)
        self._tls = ssl.create_default_context(cafile=certifi.where())

    async def get(
        self, url: str, *, etag: str | None = None, modified: str | None = None, first: int | None = None
    ) -> Answer:
        """Asks for an address; NotTaken where the answer is none we take, Unreachable where trying again may help.

        With `first` so many bytes at most are read of it, whatever its length and its type.
        """
        try:
            async with asyncio.timeout(self.settings.seconds):
                return await self._get(url, etag, modified, first)
        except TimeoutError:
            raise Unreachable("took too long") from None
        except RefusedAddress:
            raise NotTaken(PRIVATE) from None
        except httpcore.TimeoutException:
            raise Unreachable("took too long") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError, OSError):
            raise Unreachable("connection failed") from None
        except httpcore.UnsupportedProtocol:
            raise NotTaken("not http") from None

    async def _get(self, url: str, etag: str | None, modified: str | None, first: int | None) -> Answer:
        headers = self._headers(url, etag, modified)
        wait = self.settings.connect_seconds
        timeouts = {"connect": wait, "read": self.settings.seconds, "write": wait, "pool": None}
        request = httpcore.Request("GET", url, headers=headers, extensions={"timeout": timeouts})
        async with self._answering(request, origin_of(url)) as response:
            said = _by_name(response.headers)
            if response.status == 429 or response.status >= 500:
                after = _retry_after(said.get("retry-after", ""))
                busy = response.status == 429 or (response.status == 503 and bool(after))
                raise Unreachable(f"status {response.status}", after, busy)
            if response.status != 200:
                return Answer(response.status, said)
            encoding = said.get("content-encoding", "")
            if first is not None:
                return Answer(200, said, (await _read(response.aiter_stream(), encoding, first, cut=True))[:first])
            _require_text(url, said)
            limit = self.settings.page_bytes
            if said.get("content-length", "").isdigit() and int(said["content-length"]) > limit:
                raise NotTaken("too large")
            body = await _read(response.aiter_stream(), encoding, limit)
            return Answer(200, said, _expand(body, limit) if body.startswith(b"\x1f\x8b") else body)

    def _headers(self, url: str, etag: str | None, modified: str | None) -> dict[bytes | str, bytes | str]:
        host, _, _ = url.partition("//")[2].partition("/")
        headers: dict[bytes | str, bytes | str] = {
            "Host": host,
            "User-Agent": self.user_agent,
            "Accept": "text/html,application/xhtml+xml,application/atom+xml,application/rss+xml,*/*;q=0.5",
            "Accept-Encoding": "gzip, deflate",
            "Connection": "keep-alive",
        }
        if etag:
            headers["If-None-Match"] = etag.encode("latin-1")  # the very bytes that the server sent
        if modified:
            headers["If-Modified-Since"] = modified.encode("latin-1")
        # never in the clear, but to a machine that was named as local
        if (login := self.logins.get(host)) and (url.startswith("https:") or host_and_port(url) in self.local):
            headers["Authorization"] = login
        return headers

    @asynccontextmanager
    async def _answering(self, request: httpcore.Request, origin: str) -> AsyncIterator[httpcore.Response]:
        """The answer to a request, on a free connection or a new one; a free one may have been closed meanwhile.

        Not httpcore's pool: that looks at all of its connections for every request.
        """
        free = self._free.setdefault(origin, [])
        response = None
        while response is None:
            connection = free.pop() if free else self._connect(request)
            used = connection.is_idle()
            try:
                response = await connection.handle_async_request(request)
            except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ConnectionNotAvailable):
                await connection.aclose()
                if not used:
                    raise
        try:
            yield response
        finally:
            await response.aclose()
            if connection.is_idle() and len(free) < self.settings.per_host:
                free.append(connection)
            else:
                await connection.aclose()

    def _connect(self, request: httpcore.Request) -> httpcore.AsyncHTTPConnection:
        return httpcore.AsyncHTTPConnection(request.url.origin, self._tls, 15.0, network_backend=self._network)

    def forget(self, origin: str) -> list[httpcore.AsyncHTTPConnection]:
        """Hands over the free connections of a site, to be closed."""
        return self._free.pop(origin, [])

    async def close(self) -> None:
        """Closes all connections."""
        for origin in list(self._free):
            for connection in self.forget(origin):
                await connection.aclose()


def _by_name(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name; of one that is repeated the last counts, but all that is said of storing."""
    read = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers]
    told = dict(read)
    with suppress(KeyError, UnicodeDecodeError):  # an address, unlike what else stands in headers, is mostly in UTF-8
        told["location"] = told["location"].encode("latin-1").decode()
    return told | {robots_tag.HEADER: robots_tag.joined_tag(read)} if robots_tag.HEADER in told else told


def _require_text(url: str, headers: Mapping[str, str]) -> None:
    packed = url.endswith(".xml.gz")  # as sitemaps may be, whatever their type is called
    if not is_text(headers.get("content-type", "")) and not packed:
        raise NotTaken(NOT_TEXT)


def _expand(body: bytes, limit: int) -> bytes:
    """Expands a packed sitemap within the limit."""
    expander = _Expander("gzip")
    data = expander.expand(body, limit + 1)
    if len(data) > limit:
        raise NotTaken("too large")
    expander.require_end()
    return data


async def _read(stream: AsyncIterator[bytes], encoding: str, limit: int, cut: bool = False) -> bytes:
    """Reads and expands a body, never much more than the limit of it; one that is longer is cut there or not taken."""
    encoding = encoding.strip().lower()
    expander = None if encoding in ("", "identity") else _Expander(encoding)
    parts, size = [], 0
    async for data in stream:
        if expander is not None:
            data = expander.expand(data, limit + 1 - size)
        parts.append(data)
        size += len(data)
        if size > limit:
            if cut:
                return b"".join(parts)
            raise NotTaken("too large")
    if expander is not None:
        expander.require_end()
    return b"".join(parts)


class _Expander:
    """Expands a body as it comes; NotTaken where it is damaged, ends too early or is packed in another way."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise NotTaken("unknown encoding")
        self._kinds = [15, -15] if encoding == "deflate" else [47]  # many servers send deflate without its head
        self._stream = zlib.decompressobj(self._kinds[0])
        self._begun = self._over = False

    def expand(self, data: bytes, most: int) -> bytes:
        """Gives what has come, at most so many bytes of it; gzip may have several members, one after the other."""
        out = b""
        while data and len(out) < most and not self._over:
            try:
                out += self._stream.decompress(data, most - len(out))
            except zlib.error:
                if self._begun or len(self._kinds) == 1:
                    raise NotTaken("damaged body") from None
                self._stream, self._begun = zlib.decompressobj(self._kinds[1]), True
                continue
            self._begun = True
            data = self._stream.unused_data
            if not data.startswith(b"\x1f\x8b"):
                self._over = len(data) > 1  # what else follows a member is no part of the body
                break
            self._stream = zlib.decompressobj(self._kinds[0])
        return out

    def require_end(self) -> None:
        """Refuses a body that was cut."""
        if self._begun and not self._stream.eof:
            raise NotTaken("damaged body")


def _retry_after(value: str) -> float | None:
    """Seconds until a server wants to be asked again, as a number or a date."""
    if re.fullmatch("[0-9]{1,9}", value):
        return float(min(int(value), 86_400))
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None
