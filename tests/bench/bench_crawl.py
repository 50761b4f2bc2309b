"""The crawler on the demonstration site: through faults and kills, against Scrapy, night after night.

Pages a second are of the wall: two cores serve, fetch and parse. Scrapy runs in an environment of its own, the Python
that TAGFLOW_RIVALS_PYTHON names, with the same limits and the same extraction of text in its callback.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tasks.crawl.night import crawl
from tasks.demo_site.server import served
from tasks.demo_site.site import CHANGED, FAULTS, GOOD_FAULTS, NEW, VANISHED, DemoSite
from tasks.recipe_settings import CrawlSettings
from tests.tasks.crawl.test_night import documents_in

PER_HOST = 16
SETTINGS = CrawlSettings(seconds=8, back_off=0.05, retries=1, per_host=PER_HOST)
SPIDER = """
import sys, time, json
import scrapy, trafilatura
from scrapy.crawler import CrawlerProcess

class Spider(scrapy.spiders.SitemapSpider):
    name = "rival"
    sitemap_urls = [sys.argv[1] + "/sitemap.xml"]
    found = 0
    def parse(self, response):
        trafilatura.bare_extraction(response.text, fast=True, with_metadata=False)
        Spider.found += 1

limit = int(sys.argv[2])
process = CrawlerProcess({"LOG_ENABLED": False, "CONCURRENT_REQUESTS_PER_DOMAIN": limit, "CONCURRENT_REQUESTS": 32,
                          "DOWNLOAD_DELAY": 0, "ROBOTSTXT_OBEY": True, "TELNETCONSOLE_ENABLED": False})
process.crawl(Spider)
start = time.perf_counter()
process.start()
print(json.dumps([Spider.found, time.perf_counter() - start]))
"""


def run(data: Path | None) -> list[dict[str, Any]]:
    """Measures on so many pages as TAGFLOW_PAGES says, 5,000 where it says nothing."""
    pages = int(os.environ.get("TAGFLOW_PAGES", "5000"))
    found = {"notes on the site": f"{pages:,}", **_faults(pages), **_nights(pages), **_speed(pages)}
    return [{"what": what, "found": value} for what, value in found.items()]


def _faults(pages: int) -> dict[str, Any]:
    """One crawl in one go, one killed three times: the same documents, all good pages once."""
    site = DemoSite(pages, faults=True)
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as killed, served(site) as address:
        counts = crawl(Path(whole), [address + "/"], SETTINGS, local=True)
        command = [sys.executable, "-m", "tests.tasks.crawl.child", killed, address + "/"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            for kill in (1, 2, 3, None):
                child.stdin.write("go\n")
                pid = int(child.stdout.readline())
                for line in child.stdout:
                    if line == "ended\n":
                        break
                    if kill is not None and int(line) > kill * pages // 8:
                        os.kill(pid, signal.SIGKILL)
                        kill = None  # lines that it wrote before may still come
            child.stdin.close()
        found = documents_in(Path(whole))
        good = {f"{address}{note.path}" for note in site.notes.values()} | {address + path for path in GOOD_FAULTS}
        return {
            "good pages, stored": f"{len(good):,}, {len(found):,}",
            "all good ones once and no other": _said(set(found) == good),
            "the same documents after three kills": _said(documents_in(Path(killed)) == found),
            f"{len(FAULTS)} faults, by reason": ", ".join(f"{why} {n}" for why, n in sorted(counts.refused.items())),
        }


def _nights(pages: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        with served(DemoSite(pages)) as address:
            crawl(Path(folder), [address + "/"], SETTINGS, local=True)
        with served(DemoSite(pages, night=2), port=int(address.rpartition(":")[2])):
            start = time.perf_counter()
            counts = crawl(Path(folder), [address + "/"], SETTINGS, local=True)
            seconds = time.perf_counter() - start
    return {f"the next night: {NEW} new, {CHANGED} changed, {VANISHED} gone": f"{counts.told()} ({seconds:.0f} s)"}


def _speed(pages: int) -> dict[str, Any]:
    rival = os.environ.get("TAGFLOW_RIVALS_PYTHON")
    seconds: dict[str, list[float]] = {"tagflow": [], "Scrapy": []}
    settings = SETTINGS.model_copy(update={"archive": False})
    with served(DemoSite(pages)) as address:
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                counts = crawl(Path(folder), [address + "/"], settings, local=True)
                seconds["tagflow"].append((time.perf_counter() - start) / counts.done)
            if rival:
                command = [rival, "-c", SPIDER, address, str(PER_HOST)]
                found, took = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                seconds["Scrapy"].append(took / max(found, 1))
    return {f"pages a second, {name}": 1 / min(each) for name, each in seconds.items() if each}


def _said(right: bool) -> str:
    return "yes" if right else "**no**"
