"""Processes that outlive the command that started them: known by id and start, ended by a deadline."""

import contextlib
import fcntl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class ProcessId:
    """A process id with the start that tells it from a later process of the same id."""

    pid: int
    start: str

    @classmethod
    def of(cls, pid: int) -> "ProcessId":
        """The process that has this id now; psutil.NoSuchProcess where there is none."""
        return cls(pid, _start(pid))

    def find(self) -> psutil.Process | None:
        """The running process, or None if it has ended or its id now belongs to another."""
        try:
            process = psutil.Process(self.pid)
            same = _start(self.pid) == self.start
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.Error:
            return None

    def age(self) -> float:
        """Seconds since the running process started; 0 where it has ended."""
        process = self.find()
        with contextlib.suppress(psutil.Error):
            return max(0.0, time.time() - process.create_time()) if process else 0.0
        return 0.0


def _start(pid: int) -> str:
    """The start of a process in ticks since the boot, and which boot: on Linux a start time by the clock moves whenever
    the clock is corrected. Elsewhere it stands."""
    if sys.platform != "linux":
        return str(psutil.Process(pid).create_time())
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError as error:
        raise psutil.NoSuchProcess(pid) from error
    ticks = stat.rpartition(b")")[2].split()[19].decode()  # a name in brackets may hold anything
    return f"{ticks} of {_BOOT.read_text().strip()}"


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
    started = ProcessId.of(process.pid)
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
