"""WARC: what a crawler kept of its answers, read again as documents, without the network."""

import io
import tempfile
from collections.abc import Iterator
from contextlib import closing, redirect_stderr
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from tagcore.corpus import Block
from tagcore.readers.bad_rows import ReadError, shorten
from tagcore.readers.input_files import InputFile, ReadLimits, read_chunks
from tagcore.readers.source import Source
from tagcore.readers.web.answers import NotTaken, is_text, parse_body, store_answer
from tagcore.readers.web.collection import Address, Collection
from tagcore.readers.web.feed import looks_like_feed
from tagcore.readers.web.gathered import GatheredDocuments
from tagcore.readers.web.robots_tag import joined_tag
from tagcore.readers.web.sitemap import looks_like_sitemap
from tagcore.readers.web.urls import BadUrl, canonical_url

ROLE = "WARC-Tagflow-Role"  # what the crawler that wrote a record took the address for
_COMMIT_EVERY = 500
_GONE = (404, 410)
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class WarcOptions(ReadLimits):
    """The longest page that is read, and how many redirects in a row are followed."""

    page_bytes: int = 4 << 20
    redirects: int = 5


class Warc(Source):
    """Pages of WARC files, with the tags that feeds among them give; of an address the last answer counts."""

    format = "warc"
    Options = WarcOptions

    def _raw_blocks(self) -> Iterator[Block]:
        with tempfile.TemporaryDirectory() as folder:
            collection = Collection(Path(folder) / "replayed.db")
            try:
                refused = sum(self._replay(collection, file) for file in self.files)
                documents = GatheredDocuments(collection)
                self.tags = documents.tags
                self.remark = f"{len(documents):,} pages, {refused:,} answers that are none"
                yield from documents.blocks(1024)
            finally:
                collection.close()

    def _replay(self, collection: Collection, file: InputFile) -> int:
        """Takes every answer of a file, as of one night, as if it had just come; counts those that are no document."""
        refused, night = 0, collection.begin_night(_NEVER)
        for number, record in enumerate(_records(file, self.options)):
            if record.rec_type == "response" and record.http_headers is not None:
                refused += not self._take(collection, record, night)
            if number % _COMMIT_EVERY == 0:
                collection.commit()
        collection.end_night(night, _NEVER)
        return refused

    def _take(self, collection: Collection, record: Any, night: int) -> bool:
        try:
            url = canonical_url(record.rec_headers.get_header("WARC-Target-URI") or "")
            status = int(record.http_headers.get_statuscode())
        except (BadUrl, ValueError, TypeError):
            return False
        now = _date(record.rec_headers.get_header("WARC-Date"))
        try:
            if status in _GONE:
                collection.vanish(Address(url, "page"), f"status {status}", now)
            elif 300 <= status < 400 and (location := record.http_headers.get_header("Location")):
                role = _role(record, b"")
                collection.add(url, role)
                collection.redirect(Address(url, role), canonical_url(location, base=url), self.options.redirects)
            elif status == 200:
                return self._read(collection, record, url, now, night)
        except ReadError:
            raise
        except (NotTaken, ValueError):
            return False
        return False

    def _read(self, collection: Collection, record: Any, url: str, now: datetime, night: int) -> bool:
        content_type = record.http_headers.get_header("Content-Type") or ""
        body = _body(record, self.options.page_bytes) if is_text(content_type) else None
        if body is None or len(body) > self.options.page_bytes:
            return False
        address = Address(url, _role(record, body))
        collection.add(url, address.role)
        found = parse_body(address.role, url, content_type, body)
        store_answer(collection, address, found, now, night, robots_tag=joined_tag(record.http_headers.headers))
        return True


def _records(file: InputFile, limits: ReadLimits) -> Iterator[Any]:
    """Reads the records of a file, packed as a whole or one by one or not; ReadError where it is no WARC."""
    with closing(_Expanded(file, limits)) as expanded:  # warcio's objects hold one another: they would wait for gc
        records = ArchiveIterator(expanded)
        while True:
            try:
                with redirect_stderr(io.StringIO()):  # where warcio tells of lengths that are wrong, with what is there
                    record = next(records)
            except StopIteration:
                return
            except (ReadError, MemoryError):
                raise
            except Exception as error:  # of a damaged file any other may come of warcio
                raise ReadError(f"{file.name}: not readable as WARC ({shorten(str(error))})") from error
            yield record


class _Expanded:
    """The expanded bytes of a file as a stream, within the limits."""

    def __init__(self, file: InputFile, limits: ReadLimits) -> None:
        self._chunks = read_chunks(file, limits)
        self._held, self._at, self._before = b"", 0, 0

    def read(self, size: int) -> bytes:
        if self._at == len(self._held):
            self._before += self._at
            self._held, self._at = next(self._chunks, b""), 0
        data = self._held[self._at : self._at + size]
        self._at += len(data)
        return data

    def tell(self) -> int:
        return self._before + self._at

    def close(self) -> None:
        self._chunks.close()


def _body(record: Any, limit: int) -> bytes | None:
    """Reads what was answered, not much beyond the limit; None where it is packed in a way that cannot be read."""
    out = io.BytesIO()
    try:
        with redirect_stderr(io.StringIO()):
            stream = record.content_stream()
            while out.tell() <= limit and (data := stream.read(65_536)):
                out.write(data)
    except (ReadError, MemoryError):
        raise
    except Exception:
        return None
    return out.getvalue()


def _role(record: Any, body: bytes) -> str:
    """What the address was asked for as, where our crawler asked; else what the answer looks like."""
    told = record.rec_headers.get_header(ROLE)
    if told in ("start", "feed", "sitemap", "page"):
        return told
    return "feed" if looks_like_feed(body[:2000]) or looks_like_sitemap(body[:2000]) else "page"


def _date(text: str | None) -> datetime:
    try:
        time = datetime.fromisoformat(text or "")
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    except ValueError:
        return _NEVER
