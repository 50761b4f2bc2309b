"""Readers of dumps on generated files: rows a second, and memory that does not grow with the file.

Each is read at a quarter of its size and whole (`--set megabytes=1000`) by a process of its own. Seconds are of CPU,
and the second peak of memory beside the first tells whether it grows. Rows are those of the file: posts of Stack
Exchange, of which every third is a question; taggings and posts of BibSonomy; answers of a WARC, of which every second
is a page of some 30 KB, most of it scripts and menus, as on the web, and the others pictures.
"""

import io
import tempfile
import time
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from random import Random
from typing import Any

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tagcore.readers import open_source
from tagcore.synthetic.corpus import demo_corpus
from tests.bench.scale.processes import alone, peak_mib

MIB = 1 << 20


def run(data: Path | None, megabytes: int = 1000) -> list[dict[str, Any]]:
    """Measures on files of so many megabytes; they are removed after."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (file, write) in DUMPS.items():
            quarter, whole = (_measured(Path(folder), file, write, size * MIB) for size in (megabytes // 4, megabytes))
            rows.append(
                {
                    "dump": name,
                    "MB": whole["MB"],
                    "rows": whole["rows"],
                    "documents": whole["documents"],
                    "rows/s": whole["rows"] / whole["s"],
                    "MB/s": whole["MB"] / whole["s"],
                    "peak MiB at a quarter": quarter["peak"],
                    "peak MiB": whole["peak"],
                    "more bytes a document": (whole["peak"] - quarter["peak"])
                    * MIB
                    / (whole["documents"] - quarter["documents"]),
                }
            )
            print(rows[-1], flush=True)
    return rows


def _measured(folder: Path, file: str, write: Callable[[Path, int], int], size: int) -> dict[str, Any]:
    rows = write(folder, size)
    files = list(folder.iterdir())
    found = alone(read, folder / file)
    megabytes = sum(path.stat().st_size for path in files) / MIB
    for path in files:
        path.unlink()
    return {"rows": rows, "MB": round(megabytes), **found}


def read(path: Path) -> dict[str, Any]:
    """Reads all blocks and keeps none."""
    start = time.process_time()
    source = open_source(path)
    for _ in source.blocks():
        continue
    return {"documents": source.counts.documents, "s": time.process_time() - start, "peak": peak_mib()}


def _posts(folder: Path, size: int) -> int:
    texts, random, number = _texts(), Random(1), 0
    with open(folder / "Posts.xml", "w", encoding="utf-8") as out:
        out.write('<?xml version="1.0" encoding="utf-8"?>\n<posts>\n')
        while out.tell() < size:
            for _ in range(1000):
                number += 1
                body = escape("".join(f"<p>{random.choice(texts)}</p>" for _ in range(random.randint(1, 4))))
                facts = f'Id="{number}" CreationDate="2020-01-01T00:00:00.000" OwnerUserId="{number % 50_000}"'
                if number % 3 == 0:
                    tags = escape("".join(f"<tag-{random.randrange(2000)}>" for _ in range(3)))
                    out.write(f'  <row {facts} PostTypeId="1" Title="About {number}" Body="{body}" Tags="{tags}" />\n')
                else:
                    out.write(f'  <row {facts} PostTypeId="2" ParentId="1" Body="{body}" />\n')
        out.write("</posts>\n")
    return number


def _bibsonomy(folder: Path, size: int) -> int:
    texts, random, posts, taggings = _texts(), Random(2), 0, 0
    with open(folder / "tas", "w", encoding="utf-8") as tas, open(folder / "bookmark", "w", encoding="utf-8") as out:
        while tas.tell() + out.tell() < size:
            for _ in range(1000):
                posts += 1
                note, user = random.choice(texts), posts % 5000
                out.write(
                    f"{posts}\t{posts:032x}\thttp://site{posts % 997}.org/{posts}\tAbout {posts}\t{note}\t2007-01-01\n"
                )
                for _ in range(random.randint(1, 6)):
                    taggings += 1
                    tag = f"tag{int(random.paretovariate(0.6)) % 100_000}"
                    tas.write(f"{user}\t{tag}\t{posts}\t1\t2007-01-01 12:00:00\n")
    return posts + taggings


def _warc(folder: Path, size: int) -> int:
    texts, random, number = _texts(), Random(3), 0
    picture = bytes(30_000)
    with open(folder / "a.warc", "wb") as out:
        writer = WARCWriter(out, gzip=False)
        while out.tell() < size:
            number += 1
            kind, body = ("image/png", picture) if number % 2 else ("text/html", _page(texts, random, number))
            head = StatusAndHeaders("200 OK", [("Content-Type", kind)], protocol="HTTP/1.1")
            url = f"http://site{number % 97}.org/{number}"
            record = writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=head)
            writer.write_record(record)
    return number


def _page(texts: list[str], random: Random, number: int) -> bytes:
    menu = "".join(f'<li><a href="/{i}">Section {i}</a></li>' for i in range(100))
    script = f"<script>{'var a=[1,2,3];' * 1600}</script>"
    body = "".join(f"<p>{random.choice(texts)}</p>" for _ in range(8))
    tags = "".join(f'<a rel="tag" href="/t">tag{random.randrange(5000)}</a>' for _ in range(3))
    head = f"<head><title>About {number}</title>{script}</head>"
    return f"<html>{head}<body><nav><ul>{menu}</ul></nav><article>{body}</article>{tags}</body></html>".encode()


def _texts() -> list[str]:
    """Sentences to make texts of, each some fifty letters to some hundreds."""
    return [text for block in demo_corpus(300).blocks() for text in _paragraphs(block.documents["text"].to_pylist())]


def _paragraphs(texts: list[str]) -> Iterator[str]:
    for text in texts:
        yield from text.replace("\t", " ").split("\n\n")


DUMPS: dict[str, tuple[str, Callable[[Path, int], int]]] = {
    "Stack Exchange, Posts.xml": ("Posts.xml", _posts),
    "BibSonomy, tas and bookmark": ("tas", _bibsonomy),
    "WARC": ("a.warc", _warc),
}
