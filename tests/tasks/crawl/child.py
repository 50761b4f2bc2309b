"""Crawls, each in a process of its own that tells how far it is, so that it can be killed: FOLDER ADDRESS.

One crawl begins for every line of standard input; only the first pays for the imports.
"""

import os
import sys
from pathlib import Path

from tasks.crawl.crawl_run import crawl
from tasks.data_settings import CrawlSettings

FAST = CrawlSettings(seconds=4, back_off=0.01, retries=1, per_host=8)

if __name__ == "__main__":
    for _ in sys.stdin:
        if (pid := os.fork()) == 0:
            print(os.getpid(), flush=True)
            crawl(Path(sys.argv[1]), [sys.argv[2]], FAST, local=True, watch=lambda c: print(c.done, flush=True))
            os._exit(0)
        os.waitpid(pid, 0)
        print("ended", flush=True)
