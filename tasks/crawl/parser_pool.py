"""Parsing in processes of their own, which can be ended: no page can hang or end a crawl."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from queue import SimpleQueue
from typing import Any

TOO_LONG = "took too long to read"
_START_SECONDS = 300.0  # of a process and its imports, on a busy machine: no page is to blame for it


class NoParser(RuntimeError):
    """No process that parses could be started: no page is to blame, and none can be read."""


class ParserProcesses:
    """Processes that parse, started at once, and as many threads here that hand each one body at a time."""

    def __init__(self, processes: int, seconds: float) -> None:
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="parser")
        self._free: SimpleQueue[_ParserProcess] = SimpleQueue()
        for _ in range(processes):
            self._free.put(_ParserProcess(seconds))

    @property
    def threads(self) -> ThreadPoolExecutor:
        """Where `parse` is to be run."""
        return self._threads

    def parse(self, role: str, url: str, content_type: str, body: bytes) -> dict[str, Any]:
        """Parses one body; {"refused": why} where that takes too long or ends the process, which is replaced."""
        process, fit = self._free.get(), False
        try:
            found = process.ask(json.dumps([role, url, content_type]).encode(), body, self._seconds)
            fit = True
        except TimeoutError:
            found = {"refused": TOO_LONG}
        except (EOFError, OSError):
            found = {"refused": "ended its parser"}
        finally:
            if not fit:
                process.end()
                process = _ParserProcess(self._seconds)
            self._free.put(process)
        return found

    def close(self) -> None:
        """Ends all processes."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._free.empty():
            self._free.get().end()


class _ParserProcess:
    """One process of `tasks.crawl.parser_process`: begun as a command, it imports what a parser needs and no more."""

    def __init__(self, seconds: float) -> None:
        self._pipe, theirs = Pipe()
        with theirs:
            command = [sys.executable, "-P", "-m", "tasks.crawl.parser_process", str(theirs.fileno()), str(seconds)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        self._ready = False

    def ask(self, head: bytes, body: bytes, seconds: float) -> dict[str, Any]:
        """What it found; TimeoutError where that takes too long, EOFError or OSError where the process has ended."""
        if not self._ready:
            self._wait_until_ready()
        self._pipe.send_bytes(head)
        self._pipe.send_bytes(body)
        return json.loads(self._receive(seconds))

    def _wait_until_ready(self) -> None:
        try:
            self._receive(_START_SECONDS)
        except (EOFError, OSError):
            raise NoParser("no process that parses pages could be started") from None
        self._ready = True

    def _receive(self, seconds: float) -> bytes:
        if not self._pipe.poll(seconds):
            raise TimeoutError
        return self._pipe.recv_bytes()

    def end(self) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.wait()
