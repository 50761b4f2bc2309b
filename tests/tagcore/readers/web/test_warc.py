"""Archives of other crawlers, whole, damaged and packed."""

import gzip
import io
from random import Random

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tagcore.readers.bad_rows import ReadError
from tests.tagcore.readers.helpers import read, zipped

RYE = b"<title>Rye</title><article><p>Rest the dough for a night, then bake it hot.</p></article>"
ANSWERS = [
    ("/rye", "200 OK", "text/html", RYE),
    ("/loaf.png", "200 OK", "image/png", b"\x89PNG <p>not a page</p>"),
    ("/gone", "404 Not Found", "text/html", b"<p>gone</p>"),
    ("/old", "301 Moved", "text/html", b""),
]


def archive(packed: bool = False, answers=ANSWERS) -> bytes:
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=packed)
    writer.write_record(writer.create_warcinfo_record("a.warc", {"software": "another"}))
    for path, status, kind, body, *more in answers:
        headers = [("Content-Type", kind), ("Location", "/rye"), *more]
        record = writer.create_warc_record(
            f"http://a.org{path}",
            "response",
            payload=io.BytesIO(body),
            http_headers=StatusAndHeaders(status, headers, protocol="HTTP/1.1"),
        )
        writer.write_record(record)
    return out.getvalue()


@pytest.mark.parametrize("packed", [False, True])
def test_only_pages_become_documents(tmp_path, packed):
    path = tmp_path / "a.warc"
    path.write_bytes(archive(packed))
    found = read(path)
    assert [(d["id"], d["title"]) for d in found.documents] == [("http://a.org/rye", "Rye")]
    assert "Rest the dough" in found.documents[0]["text"]
    assert found.source.remark == "1 pages, 3 answers that are none"


def test_what_is_not_to_be_stored_is_no_document(tmp_path):
    tag = "X-Robots-Tag"
    body = b"<title>Oats</title><p>Soak them while you sleep.</p>"
    hidden = ("/oats", "200 OK", "text/html", body, (tag, "noindex"), (tag, "noarchive"))
    path = tmp_path / "a.warc"
    path.write_bytes(archive(answers=[*ANSWERS, hidden]))
    assert read(path).ids == ["http://a.org/rye"]
    path.write_bytes(archive(answers=[*ANSWERS, hidden[:4], hidden]))  # taken back by a later answer
    assert read(path).ids == ["http://a.org/rye"]


def test_an_archive_may_be_packed_as_a_whole_or_be_in_a_zip(tmp_path):
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(archive()))
    assert read(tmp_path / "a.warc.gz").ids == ["http://a.org/rye"]
    assert read(zipped(tmp_path / "a.zip", a__warc=archive(packed=True))).ids == ["http://a.org/rye"]


def test_one_that_is_cut_off_or_none_is_told(tmp_path):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(archive(packed=True)[:-20])
    with pytest.raises(ReadError, match=r"a\.warc\.gz: cut off or damaged"):
        read(path)
    for data in (b"WARC/1.0\r\nnothing", b"something else"):
        path = tmp_path / "b.warc"
        path.write_bytes(data)
        with pytest.raises(ReadError, match=r"b\.warc: (not readable as WARC|no documents)"):
            read(path)


def test_one_that_is_cut_off_within_a_page_is_told(tmp_path):
    """beyond the first few megabytes, which are read as one."""
    long = Random(0).randbytes(1_500_000).hex().encode()
    path = tmp_path / "a.warc.gz"
    path.write_bytes(archive(True, [(f"/{n}", "200 OK", "text/plain", long) for n in range(2)])[:-20])
    with pytest.raises(ReadError, match=r"a\.warc\.gz: cut off or damaged"):
        read(path)


def test_a_record_of_a_wrong_length_or_without_an_address_is_told_in_our_words(tmp_path, capfd):
    path = tmp_path / "a.warc"
    path.write_bytes(archive().replace(b"Rest the dough", b"Rest the dough, and the oven,"))
    assert read(path).ids == ["http://a.org/rye"]
    path.write_bytes(archive().replace(b"WARC-Target-URI", b"WARC-Target-XXX", 1))
    with pytest.raises(ReadError, match=r"a\.warc: not readable as WARC"):
        read(path)
    assert capfd.readouterr().err == ""
