"""Altered inputs to every parser of what comes from outside: nothing but an answer or a refusal may come of one.

So many inputs for each parser as TAGFLOW_INPUTS says, 100,000 where it says nothing; those of the readers of files are
a tenth of that, as each is written to disk first.
"""

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tagcore.readers import open_source
from tagcore.readers.web.answers import parse_body
from tagcore.readers.web.urls import BadUrl, canonical_url
from tasks.demo_site.site import DemoSite
from tests.tagcore.readers.dumps import FORMATS

_TEXTS = ["<", ">", "</", "&", "&#0;", '"', "'", "<!--", "]]>", "<![CDATA[", "\x00", "{", "<div>" * 50]
_PIECES = [*(text.encode() for text in _TEXTS), b"\xff"]


def run(data: Path | None) -> list[dict[str, Any]]:
    """Counts what came of the inputs of every parser, and the longest that one took."""
    inputs = int(os.environ.get("TAGFLOW_INPUTS", "100000"))
    site = DemoSite(50)
    pages = [site.answer(note.path, {}).body for note in site.notes.values()]
    lists = {path: [site.answer(path, {}).body] for path in ("/feed", "/sitemap.xml")}
    parsers: dict[str, tuple[list[bytes], Callable[[bytes], str]]] = {
        "pages": (pages, lambda body: _parsed("page", body)),
        "feeds": ([body[:2500] for body in lists["/feed"]], lambda body: _parsed("feed", body)),
        "sitemaps": (lists["/sitemap.xml"], lambda body: _parsed("sitemap", body)),
        "addresses": ([f"https://example.org/a/../{i}?q=ü#x".encode() for i in range(50)], _address),
    }
    rows = [_row(name, seeds, parse, inputs) for name, (seeds, parse) in parsers.items()]
    with tempfile.TemporaryDirectory() as folder:
        for name in FORMATS:
            rows.append(_row(name, [b""], _reader(Path(folder), name), max(1, inputs // 10)))
    return rows


def _row(name: str, seeds: list[bytes], parse: Callable[[bytes], str], inputs: int) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    what: Counter[str] = Counter()
    slowest = 0.0
    for i in range(inputs):
        begun = time.process_time()
        try:
            what[parse(altered(seeds[i % len(seeds)], rng) if seeds[0] else rng.bytes(16))] += 1
        except Exception as error:
            what["crashed"] += 1
            print(name, i, repr(error), flush=True)
        slowest = max(slowest, time.process_time() - begun)
    known = {answer: what[answer] for answer in ("read", "refused", "crashed")}
    return {"parser": name, "inputs": inputs, **known, "longest, CPU s": slowest}


def altered(data: bytes, rng: np.random.Generator) -> bytes:
    """Changes, cuts, doubles or inserts a few pieces."""
    for _ in range(int(rng.integers(1, 5))):
        at, length = int(rng.integers(0, len(data) + 1)), int(rng.integers(1, 64))
        how = rng.integers(0, 4)
        if how == 0:
            data = data[:at] + _PIECES[int(rng.integers(len(_PIECES)))] + data[at:]
        elif how == 1:
            data = data[:at] + data[at + length :]
        elif how == 2:
            data = data[: at + length] + data[at:]
        else:
            data = data[:at] + rng.bytes(4) + data[at + 4 :]
    return data


def _parsed(role: str, body: bytes) -> str:
    found = parse_body(role, "https://example.org/x", "text/html", body)
    json.dumps(found)
    return "refused" if "refused" in found else "read"


def _address(body: bytes) -> str:
    try:
        url = canonical_url(body.decode(errors="replace"))
    except BadUrl:
        return "refused"
    assert canonical_url(url) == url
    return "read"


def _reader(folder: Path, name: str) -> Callable[[bytes], str]:
    rejected = folder / "rejected"

    def read(noise: bytes) -> str:
        rng = np.random.default_rng(list(noise))
        here = folder / "data"
        here.mkdir(exist_ok=True)
        which = int(rng.integers(len(FORMATS[name])))
        for number, (file, data) in enumerate(FORMATS[name].items()):
            (here / file).write_bytes(altered(data, rng) if number == which else data)
        rejected.unlink(missing_ok=True)
        try:
            for _ in open_source(here / name, skip_bad_rows=rejected).blocks():
                continue
        except ValueError:
            assert not list(folder.glob(".rejected*"))  # nothing half written
            return "refused"
        return "read"

    return read
