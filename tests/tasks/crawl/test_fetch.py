"""One request: what it tells of whoever asks."""

import asyncio
import base64
import gzip
import zlib

import pytest
from pydantic import SecretStr

from tagcore.readers.web.answers import NotTaken
from tasks.crawl.crawl_run import crawl
from tasks.crawl.fetch import Fetcher, _read, _retry_after
from tasks.data_settings import CrawlSettings
from tasks.demo_site.server import served
from tasks.demo_site.site import DemoSite

SECRET = "ann:open-sesame"
TOLD = "Basic " + base64.b64encode(SECRET.encode()).decode()


def headers_for(url: str, **options) -> dict:
    async def made() -> dict:
        return Fetcher(CrawlSettings(), "tests", logins={"a.org": TOLD}, **options)._headers(url, None, None)

    return asyncio.run(made())


def test_a_login_is_told_to_its_host_alone_and_never_in_the_clear():
    assert headers_for("https://a.org/x")["Authorization"] == TOLD
    for url in ("https://b.org/", "https://a.org.b.org/", "https://a.org:8443/", "http://a.org/x"):
        assert "Authorization" not in headers_for(url), url
    assert headers_for("http://a.org/x", local={("a.org", 80)})["Authorization"] == TOLD


def test_a_login_is_used_and_written_down_nowhere(tmp_path, caplog, capfd):
    asked = []

    class Guarded(DemoSite):
        def answer(self, target, headers):
            asked.append(headers.get("authorization"))
            return super().answer(target, headers)

    with served(Guarded(10)) as address:
        place = address.removeprefix("http://")
        fast = CrawlSettings(back_off=0.01)
        counts = crawl(tmp_path, [address + "/"], fast, local=True, logins={place: SecretStr(SECRET)})
    assert set(asked) == {TOLD}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    kept = b"".join((gzip.open if path.suffix == ".gz" else open)(path, "rb").read() for path in files)
    told = repr(counts) + caplog.text + "".join(capfd.readouterr())
    for secret in ("open-sesame", TOLD.removeprefix("Basic ")):
        assert secret not in told
        assert secret.encode() not in kept


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("999999999", 86_400.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("\xb2", None),
        ("9" * 5000, None),
        ("Mon, 01 Jan 99999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2024 00:00:00 +9999999999999", None),
        ("soon", None),
    ],
)
def test_whatever_a_server_says_of_later_is_seconds_or_nothing(value, seconds):
    assert _retry_after(value) == seconds


WORDS = " ".join(f"word{number * 7919 % 100_003}" for number in range(3000)).encode()
RAW_DEFLATE = zlib.compress(WORDS)[2:-4]


def body_of(sent: bytes, encoding: str, chunk: int, limit: int = 1 << 20) -> bytes:
    async def chunks():
        for first in range(0, len(sent), chunk):
            yield sent[first : first + chunk]

    return asyncio.run(_read(chunks(), encoding, limit))


@pytest.mark.parametrize("chunk", [2, 3, 1 << 20])
@pytest.mark.parametrize(
    ("sent", "encoding"),
    [
        (gzip.compress(WORDS), "gzip"),
        (gzip.compress(WORDS[:500]) + gzip.compress(WORDS[500:]), "gzip"),
        (gzip.compress(WORDS) + b"\0 padding", "x-gzip"),
        (zlib.compress(WORDS), "Deflate "),
        (RAW_DEFLATE, "deflate"),
        (WORDS, ""),
    ],
    ids=["gzip", "two members", "padded", "deflate", "raw deflate", "plain"],
)
def test_a_packed_body_is_read_whole_or_not_at_all(sent, encoding, chunk):
    assert body_of(sent, encoding, chunk) == WORDS
    with pytest.raises(NotTaken, match="too large"):
        body_of(sent, encoding, chunk, len(WORDS) - 1)
    if encoding and b"padding" not in sent:
        with pytest.raises(NotTaken, match="damaged body"):
            body_of(sent[: len(sent) // 2], encoding, chunk)
    assert body_of(b"", encoding, chunk) == b""
