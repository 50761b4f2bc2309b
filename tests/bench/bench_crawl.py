"""The crawler on the demonstration site: through faults and kills, night after night, against Scrapy and trafilatura.

Pages a second are of the wall, of all pages, the best of three, on two cores that serve, fetch and parse; the site is
served by a process of its own. Scrapy runs in an environment of its own, the Python that TAGFLOW_RIVALS_PYTHON names:
with the same limits, uvloop where it is there, without cookies, log and storage, and with the same extraction of text,
in its callback or in a process beside it that is up before the clock starts; ours starts its own after that, and stores
what it finds, with tags and fingerprints.
Parsing alone is of files on disk: trafilatura's own command with `--fast --no-comments` and as many processes.
"""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tasks.crawl.crawl_run import crawl
from tasks.crawl.parser_pool import ParserProcesses
from tasks.data_settings import CrawlSettings
from tasks.demo_site.server import served
from tasks.demo_site.site import CHANGED, FAULTS, GOOD_FAULTS, NEW, VANISHED, DemoSite
from tests.tasks.crawl.test_crawl_run import documents_in

PER_HOST = 16
SETTINGS = CrawlSettings(seconds=8, back_off=0.05, retries=1, per_host=PER_HOST)
SPIDER = """
import asyncio, json, sys, time
from concurrent.futures import ProcessPoolExecutor
import scrapy, trafilatura
from scrapy.crawler import CrawlerProcess

address, limit, apart = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "apart"
pool = ProcessPoolExecutor(1) if apart else None

def extract(html):
    found = trafilatura.bare_extraction(html, fast=True, with_metadata=False, include_comments=False)
    return found.text if found else ""

class Spider(scrapy.spiders.SitemapSpider):
    name = "rival"
    sitemap_urls = [address + "/sitemap.xml"]
    found = 0
    async def parse(self, response):
        if pool is None:
            extract(response.text)
        else:
            await asyncio.get_running_loop().run_in_executor(pool, extract, response.text)
        Spider.found += 1

settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": limit, "CONCURRENT_REQUESTS": 32, "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": True, "TELNETCONSOLE_ENABLED": False, "COOKIES_ENABLED": False, "LOG_ENABLED": False}
try:
    import uvloop
    settings["ASYNCIO_EVENT_LOOP"] = "uvloop.Loop"
except ImportError:
    pass
if __name__ == "__main__":
    if pool is not None:
        pool.submit(extract, "<p>warm</p>").result()
    process = CrawlerProcess(settings)
    process.crawl(Spider)
    start = time.perf_counter()
    process.start()
    print(json.dumps([Spider.found, time.perf_counter() - start]))
"""


def run(data: Path | None, pages: int = 5000) -> list[dict[str, Any]]:
    """Measures on a site of so many notes."""
    found = {"notes on the site": f"{pages:,}", **_faults(pages), **_speed(pages), **_parsing(pages)}
    return [{"what": what, "found": value} for what, value in found.items()]


def _faults(pages: int) -> dict[str, Any]:
    """One crawl in one go, one killed three times, and the next night of the first."""
    site = DemoSite(pages, faults=True)
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as killed:
        with served(site) as address:
            counts = crawl(Path(whole), [address + "/"], SETTINGS, local=True)
            found = documents_in(Path(whole))
            at = _killed(Path(killed), address, pages)
            same = documents_in(Path(killed)) == found
        with served(DemoSite(pages, night=2, faults=True), port=int(address.rpartition(":")[2])):
            next_night = crawl(Path(whole), [address + "/"], SETTINGS, local=True)
        after = documents_in(Path(whole))
    good = {f"{address}{note.path}" for note in site.notes.values()} | {address + path for path in GOOD_FAULTS}
    changed = sum(after[id_] != {**row, "vanished_at": after[id_]["vanished_at"]} for id_, row in found.items())
    gone = sum(row["vanished_at"] is not None for row in after.values())
    return {
        "good pages, stored": f"{len(good):,}, {len(found):,}",
        "all good ones once and no other": _said(set(found) == good),
        "pages that answered only when asked again": f"{counts.retried:,}",
        f"{len(FAULTS)} faults, by reason": ", ".join(f"{why} {n}" for why, n in sorted(counts.refused.items())),
        f"the same documents when killed after {', '.join(at)} addresses": _said(same),
        f"the next night: {NEW} new, {CHANGED} changed, {VANISHED} gone": next_night.told(),
        "documents new, changed, marked as gone, lost": f"{len(after.keys() - found)}, {changed}, {gone}, "
        f"{len(found.keys() - after)}",
    }


def _killed(folder: Path, address: str, pages: int) -> list[str]:
    """Crawls and is killed three times on the way; tells after how many addresses of each run."""
    command = [sys.executable, "-m", "tests.tasks.crawl.child", str(folder), address + "/"]
    at = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for kill in (1, 2, 3, None):
            child.stdin.write("go\n")
            pid, waiting = int(child.stdout.readline()), kill is not None
            for line in child.stdout:
                if line == "ended\n":
                    break
                if waiting and int(line) > pages // 8 * (kill or 0):
                    os.kill(pid, signal.SIGKILL)
                    at.append(f"{int(line):,}")
                    waiting = False  # lines that it wrote before may still come
        child.stdin.close()
    return at


def _speed(pages: int) -> dict[str, Any]:
    rival = os.environ.get("TAGFLOW_RIVALS_PYTHON")
    settings = SETTINGS.model_copy(update={"archive": False})

    def ours(address: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            counts = crawl(Path(folder), [address + "/"], settings, local=True)
            return (counts.new + counts.changed) / (time.perf_counter() - start)

    def scrapy(how: str) -> Callable[[str], float]:
        def measure(address: str) -> float:
            with tempfile.TemporaryDirectory() as folder:
                spider = Path(folder) / "spider.py"
                spider.write_text(SPIDER)
                command = [str(rival), str(spider), address, str(PER_HOST), how]
                environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
                done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            found, seconds = json.loads(done.stdout)
            return found / seconds

        return measure

    works = {"tagflow": ours}
    if rival:
        works |= {"Scrapy, text in its callback": scrapy("inside"), "Scrapy, text in a process": scrapy("apart")}
    rates: dict[str, list[float]] = {name: [] for name in works}
    with _served_apart(pages) as address:
        for _ in range(3):
            for name, work in works.items():
                rates[name].append(work(address))
    return {f"pages a second, {name}": max(each) for name, each in rates.items()}


def _parsing(pages: int) -> dict[str, Any]:
    """Finds text, tags and fingerprint of files, beside trafilatura's command, which finds text."""
    cores = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        files, out = Path(folder) / "pages", Path(folder) / "texts"
        files.mkdir()
        site = DemoSite(pages)
        for note in site.notes.values():
            (files / f"{note.number}.html").write_bytes(site.answer(note.path, {}).body)

        def ours() -> float:
            start = time.perf_counter()
            parsers = ParserProcesses(cores, 20.0)
            try:
                given = ((path, path.read_bytes()) for path in files.iterdir())
                asked = ("page", "http://example.org/", "text/html; charset=utf-8")
                found = [parsers.threads.submit(parsers.parse, *asked, body) for _, body in given]
                assert all("page" in each.result() for each in wait(found).done)
            finally:
                parsers.close()
            return len(found) / (time.perf_counter() - start)

        def theirs() -> float:
            out.mkdir(exist_ok=True)
            command = [str(Path(sys.executable).with_name("trafilatura")), "--input-dir", str(files)]
            command += ["--output-dir", str(out), "--fast", "--no-comments", "--parallel", str(cores)]
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            return len(site.notes) / (time.perf_counter() - start)

        rates = [(ours(), theirs()) for _ in range(3)]
    return {
        f"files parsed a second, {cores} processes, {name}": max(each)
        for name, each in zip(("tagflow", "trafilatura's command"), zip(*rates, strict=True), strict=True)
    }


@contextmanager
def _served_apart(pages: int) -> Iterator[str]:
    """Serves the site from a process of its own."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, pages), daemon=True)
    process.start()
    try:
        yield mine.recv()
    finally:
        mine.send("enough")
        process.join()


def _serve(pipe: Connection, pages: int) -> None:
    with served(DemoSite(pages)) as address:
        pipe.send(address)
        pipe.recv()


def _said(right: bool) -> str:
    return "yes" if right else "**no**"
