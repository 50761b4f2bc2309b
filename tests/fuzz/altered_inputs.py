"""Altered inputs, many to a process, watched from outside: what crashes or hangs is counted, and the next one comes.

How far it is stands on disk, so that a count of hours goes on where it was cut off.
"""

import faulthandler
import hashlib
import json
import mmap
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

import tagcore.readers
import tagcore.text
from tests.fuzz.alter_bytes import altered, draws_of
from tests.fuzz.parsers import Parser

HANG = 30.0  # seconds for one input
_ROOM = 4 << 30  # bytes that a process may take beyond what it has
_OF_ONE = 500  # inputs of one process: pyarrow never frees the 4 MiB that it meant to fill from a damaged gzip
_READ, _REFUSED, _FAULTS, _NEXT, _SLOWEST = range(5)
_MEMORY = Path("/dev/shm")  # files of one input need no disk


@dataclass
class Tally:
    """What came of the inputs so far."""

    read: int = 0
    refused: int = 0
    next: int = 0  # number of the first that is to come
    slowest: float = 0.0  # CPU seconds of one
    faults: list[str] = field(default_factory=list)

    @property
    def what(self) -> Counter[str]:
        """Counts the faults by kind."""
        return Counter(fault.split(":")[1].strip() for fault in self.faults)


def one_input(name: str, parser: Parser, number: int, folder: Path) -> bool:
    """Gives a parser its input of this number, all of whose files but one are as they should be; whether it is read."""
    random = draws_of(name, number)
    files = dict(parser.seeds[number % len(parser.seeds)])
    which = random.choice(list(files))
    files[which] = random.randbytes(random.randrange(200)) if number % 50 == 0 else altered(files[which], random)
    try:
        parser.read(files, folder, number)
    except ValueError:
        return False
    finally:
        for entry in folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    return True


def count(name: str, parser: Parser, inputs: int, state: Path | None = None, hang: float = HANG) -> Tally:
    """Gives a parser so many altered inputs; goes on where the file of the state says that it was cut off."""
    tally = Tally(**json.loads(state.read_text())) if state is not None and state.exists() else Tally()
    scratch = Path(tempfile.mkdtemp(dir=_MEMORY if _MEMORY.is_dir() else None))
    notes = scratch / "notes"
    shared = np.frombuffer(mmap.mmap(-1, 64), np.float64)
    try:
        _warm_up(parser, scratch)
        while tally.next < inputs:
            shared[:] = 0
            shared[_NEXT] = tally.next
            notes.write_bytes(b"")
            pid = os.fork()
            if pid == 0:
                _serve(name, parser, inputs, shared, scratch)
            before = tally
            end = _watch(pid, shared, hang, lambda before=before: _keep(state, _sum(before, shared, notes)))
            if end.startswith("hang"):
                end += f": {_places((scratch / 'stack').read_text())}"
            tally = _sum(before, shared, notes)
            if end:
                tally.faults.append(f"{tally.next}: {end}")
                tally.next += 1
            _keep(state, tally)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return tally


def state_folder() -> Path:
    """Where counts of this code are kept; another code has another."""
    digest = hashlib.sha256()
    for root in (*tagcore.readers.__path__, *tagcore.text.__path__, str(Path(__file__).parent)):
        for path in sorted(Path(root).rglob("*.py")):
            digest.update(path.read_bytes())
    folder = Path(tempfile.gettempdir()) / "tagflow-fuzz" / digest.hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _warm_up(parser: Parser, scratch: Path) -> None:
    """Reads what is not altered, which must be read, and compiles what that takes."""
    for files in parser.seeds:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            parser.read(files, Path(folder), 0)


def _serve(name: str, parser: Parser, inputs: int, shared: np.ndarray, scratch: Path) -> None:
    """Reads some inputs in a process of its own, which ends with the last of them."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _ROOM,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    tempfile.tempdir = str(scratch)
    folder = Path(tempfile.mkdtemp(dir=scratch))
    first = int(shared[_NEXT])
    last = min(first + _OF_ONE, inputs)
    with open(scratch / "notes", "a") as notes, open(scratch / "stack", "w") as stack:
        faulthandler.register(signal.SIGUSR1, stack)  # where it stands, if it hangs
        for number in range(first, last):
            shared[_NEXT] = number
            begun = time.process_time()
            try:
                shared[_READ if one_input(name, parser, number, folder) else _REFUSED] += 1
            except BaseException as error:  # whatever it is, it is what the user would see
                notes.write(f"{number}: {type(error).__name__}: {error!s:.200}".replace("\n", " ") + "\n")
                notes.flush()
                shared[_FAULTS] += 1
            shared[_SLOWEST] = max(shared[_SLOWEST], time.process_time() - begun)
        shared[_NEXT] = last
    sys.stdout.flush()
    os._exit(0)


def _watch(pid: int, shared: np.ndarray, hang: float, keep: Callable[[], None]) -> str:
    """Waits for the process; tells how it ended where that was not by itself. One that stands still is ended."""
    at, since, kept = -1.0, time.monotonic(), time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return "" if code == 0 else f"crash: {signal.Signals(-code).name if code < 0 else f'exit {code}'}"
        now = time.monotonic()
        if shared[_NEXT] != at:
            at, since = shared[_NEXT], now
        if now - since > hang:
            os.kill(pid, signal.SIGUSR1)
            time.sleep(0.5)  # to tell where it stands
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return f"hang: over {hang:g} s"
        if now - kept > 5.0:
            keep()
            kept = now
        time.sleep(0.05)


def _places(stack: str) -> str:
    """The files and lines of a stack, the last called first."""
    return " < ".join(f"{name}:{line}" for name, line in re.findall(r'File ".*?([^/"]+)", line (\d+)', stack))


def _sum(tally: Tally, shared: np.ndarray, notes: Path) -> Tally:
    """Adds what the process of this moment has done to what was done before it."""
    faults = [*tally.faults, *notes.read_text(errors="replace").splitlines()]
    read, refused = tally.read + int(shared[_READ]), tally.refused + int(shared[_REFUSED])
    return Tally(read, refused, int(shared[_NEXT]), max(tally.slowest, float(shared[_SLOWEST])), faults)


def _keep(state: Path | None, tally: Tally) -> None:
    if state is not None:
        made = state.with_suffix(".new")
        made.write_text(json.dumps(asdict(tally)))
        made.rename(state)
