"""What an archive keeps when a crawl was killed and goes on."""

from datetime import UTC, datetime

from warcio.archiveiterator import ArchiveIterator

from tasks.crawl.archive import Archive
from tasks.crawl.fetch import Answer

NOW = datetime(2026, 11, 18, tzinfo=UTC)


def addresses(path) -> list[str]:
    with open(path, "rb") as file:
        records = [record.rec_headers.get_header("WARC-Target-URI") for record in ArchiveIterator(file)]
    assert records[0] is None  # who wrote it
    return records[1:]


def test_answers_that_were_not_committed_are_cut_off_when_a_crawl_goes_on(tmp_path):
    path, answer = tmp_path / "night.warc.gz", Answer(200, {"content-type": "text/html"}, b"<p>words</p>")
    archive = Archive(path, 0)
    archive.write("page", "http://a/1", answer, NOW)
    committed = archive.flush()
    archive.write("page", "http://a/2", answer, NOW)
    archive.close()
    assert path.stat().st_size > committed
    again = Archive(path, committed)
    again.write("page", "http://a/3", answer, NOW)
    again.close()
    assert addresses(path) == ["http://a/1", "http://a/3"]
