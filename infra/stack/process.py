"""Processes that outlive the command that started them: known by id and start time, ended by a deadline."""

import contextlib
import fcntl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

CLOCK_SLACK = 2.0  # seconds; start times move a little when the system clock is corrected


@dataclass(frozen=True)
class ProcessId:
    """A process id with the start time that tells it from a later process of the same id."""

    pid: int
    created: float

    def find(self) -> psutil.Process | None:
        """The running process, or None if it has ended or its id now belongs to another."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.created) < CLOCK_SLACK
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.Error:
            return None


def start_detached(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path, keep: Sequence[int] = ()
) -> ProcessId:
    """Start a process in a session of its own, so that Ctrl-C here does not reach it; output goes to `log`.

    `keep` are file descriptors that the process inherits.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=keep,
        )
    started = ProcessId(process.pid, psutil.Process(process.pid).create_time())
    process.returncode = 0  # it is meant to outlive this object: no ResourceWarning about it
    return started


def end(identity: ProcessId, deadline: float = 10.0) -> bool:
    """End the process and its descendants: SIGTERM, then SIGKILL for what is left at the deadline.

    False if it was not running.
    """
    root = identity.find()
    if root is None:
        return False
    tree = [root]
    with contextlib.suppress(psutil.Error):
        tree += root.children(recursive=True)
    end_all(tree, deadline)
    return True


def end_all(processes: Sequence[psutil.Process], deadline: float = 10.0) -> None:
    """End these processes: SIGTERM, then SIGKILL for what is left at the deadline."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, left = psutil.wait_procs(processes, timeout=deadline)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=deadline)


@contextlib.contextmanager
def exclusive(lock: Path, *, timeout: float, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold `lock` against other processes; `waiting` is called once if somebody else has it first."""
    with lock.open("a") as handle:
        deadline = time.monotonic() + timeout
        announced = False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{lock} is still held by another process after {timeout:.0f} s") from None
                if not announced:
                    waiting()
                    announced = True
                time.sleep(0.1)
        yield


def last_lines(path: Path, count: int = 15) -> str:
    """The end of a log for an error message; empty if there is none."""
    with contextlib.suppress(OSError), path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 20_000))
        return "\n".join(log.read().decode(errors="replace").splitlines()[-count:])
    return ""
