"""What was fetched, as WARC files: a crawl can be read again from them, without the network."""

import io
from datetime import datetime
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tagcore.readers.web.warc import ROLE
from tasks.crawl.fetch import Answer

_DROPPED = ("content-encoding", "transfer-encoding", "content-length", "set-cookie", "connection")


class Archive:
    """One WARC file, packed record by record, cut back to its last committed answer when a crawl goes on."""

    def __init__(self, path: Path, committed: int) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "ab")  # noqa: SIM115, closed by close
        self._file.truncate(committed)
        self._file.seek(0, io.SEEK_END)
        self._writer = WARCWriter(self._file, gzip=True)
        if not committed:
            self._writer.write_record(self._writer.create_warcinfo_record(path.name, {"software": "tagflow"}))

    def write(self, role: str, url: str, answer: Answer, now: datetime) -> None:
        """Writes one answer; what tells who asked is left out."""
        headers = [(name.title(), value) for name, value in answer.headers.items() if name not in _DROPPED]
        record = self._writer.create_warc_record(
            url,
            "response",
            payload=io.BytesIO(answer.body),
            http_headers=StatusAndHeaders(f"{answer.status} Answer", headers, protocol="HTTP/1.1"),
            warc_headers_dict={"WARC-Date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), ROLE: role},
        )
        self._writer.write_record(record)

    def flush(self) -> int:
        """Hands all to the disk; gives the length of the file."""
        self._file.flush()
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
