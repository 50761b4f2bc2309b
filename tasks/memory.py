"""How much memory a piece of work takes, above what the process held before it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

_EVERY = 0.02  # seconds


@dataclass
class WorkingMemory:
    """The most that was seen, in MiB."""

    mebibytes: float = 0.0


@contextmanager
def watch_memory() -> Iterator[WorkingMemory]:
    """Looks at this process many times a second until the block ends."""
    process, seen, over = psutil.Process(), WorkingMemory(), threading.Event()
    before = process.memory_info().rss

    def look() -> None:
        seen.mebibytes = max(seen.mebibytes, (process.memory_info().rss - before) / 2**20)

    def watch() -> None:
        while not over.wait(_EVERY):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
        look()
