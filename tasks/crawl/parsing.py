"""Parsing in processes of their own, which can be ended: no page can hang or end a crawl."""

import json
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from tagcore.readers.web.answers import parse_body

TOO_LONG = "took too long to read"
_START_SECONDS = 300.0  # of a process and its imports, on a busy machine: no page is to blame for it


class ParserProcesses:
    """Processes that parse, each with a thread here that hands it one body at a time and ends it when it hangs."""

    def __init__(self, processes: int, seconds: float) -> None:
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="parser")
        self._mine = threading.local()
        self._all: list[_ParserProcess] = []

    @property
    def threads(self) -> ThreadPoolExecutor:
        """Where `parse` is to be run."""
        return self._threads

    def parse(self, role: str, url: str, content_type: str, body: bytes) -> dict[str, Any]:
        """Parses one body; {"refused": why} where that takes too long or ends the process."""
        process = getattr(self._mine, "process", None)
        if process is None:
            process = self._mine.process = _ParserProcess()
            self._all.append(process)
        try:
            return process.ask(json.dumps([role, url, content_type]).encode(), body, self._seconds)
        except TimeoutError:
            why = TOO_LONG
        except (EOFError, OSError):
            why = "ended its parser"
        process.end()
        self._mine.process = None
        return {"refused": why}

    def close(self) -> None:
        """Ends all processes."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._all:
            process.end()


class _ParserProcess:
    def __init__(self) -> None:
        methods = multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        if "forkserver" in methods:
            context.set_forkserver_preload(["tasks.crawl.parsing", "trafilatura", "feedparser"])
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._ready = False

    def ask(self, head: bytes, body: bytes, seconds: float) -> dict[str, Any]:
        """What it found; TimeoutError where that takes too long, EOFError or OSError where the process has ended."""
        if not self._ready:
            self._receive(_START_SECONDS)
            self._ready = True
        self._pipe.send_bytes(head)
        self._pipe.send_bytes(body)
        return json.loads(self._receive(seconds))

    def _receive(self, seconds: float) -> bytes:
        if not self._pipe.poll(seconds):
            raise TimeoutError
        return self._pipe.recv_bytes()

    def end(self) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection) -> None:
    """Says that it is ready, and parses until the other end is closed."""
    pipe.send_bytes(b"ready")
    while True:
        try:
            role, url, content_type = json.loads(pipe.recv_bytes())
            body = pipe.recv_bytes()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            found = parse_body(role, url, content_type, body)
        except (Exception, RecursionError):  # of hostile input any may come
            found = {"refused": "not readable"}
        pipe.send_bytes(json.dumps(found).encode())
