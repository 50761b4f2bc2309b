"""One process of the local stack: started once, found again by its record, ended with all that it started."""

import contextlib
import hashlib
import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from infra.stack.process import ProcessId, end, end_all, last_lines, start_detached
from tagcore.store.files import write_text

MARK = "TAGFLOW_PART"  # in the environment of a part and of all that it starts: what a dead one leaves is found by it

HEALTHY, NO_ANSWER, NOT_RUNNING = "healthy", "does not answer", "not running"
DIED = "died: `tagflow up` repairs it"


class StackError(RuntimeError):
    """A part of the local stack did not come up."""


@dataclass(frozen=True)
class Part:
    """What a part is: how it is started, where it is reached, and how its health is seen."""

    name: str
    title: str
    command: Sequence[str]
    environment: dict[str, str]
    address: str
    answers: Callable[[], bool]
    given: Mapping[str, str] = field(default_factory=dict)  # variables that the stack chose, beside the shell's

    @property
    def told(self) -> list[str]:
        """What the stack told the process: another command or other addresses make it another part.

        Not what the shell of whoever called `up` happens to have: that alone replaces nothing. Variables are told by
        a hash of their value, as an address may hold a password.
        """
        hashes = {name: hashlib.sha256(value.encode()).hexdigest()[:16] for name, value in sorted(self.given.items())}
        return [*self.command, *(f"{name}={value}" for name, value in hashes.items())]


@dataclass(frozen=True)
class PartState:
    """What a part was found to be."""

    name: str
    title: str
    address: str
    health: str  # HEALTHY, NO_ANSWER, DIED or NOT_RUNNING
    pid: int | None = None

    @property
    def needs_repair(self) -> bool:
        """Whether it was started and is not what it should be; a part that nobody started needs none."""
        return self.health in (DIED, NO_ANSWER)


@dataclass(frozen=True)
class Record:
    """A part that was started: its process, and what it was started as."""

    process: ProcessId
    title: str
    address: str
    told: list[str]


def ensure_part(
    part: Part,
    folder: Path,
    *,
    say: Callable[[str], None],
    timeout: float = 120,
    before_start: Callable[[], None] = lambda: None,
) -> bool:
    """Starts the part unless it runs as it should; False if it did. What a dead one left is ended first.

    `before_start` is called between the end of what ran, or had died, and the start.
    """
    record = read_record(folder, part.name)
    if record and record.process.find() and record.told == part.told and _comes_up(part, record, 10):
        return False
    if record:
        why = "died" if record.process.find() is None else "is replaced"
        say(f"{part.title}: process {record.process.pid} {why}")
    end_part(folder, part.name)
    before_start()
    say(f"starting {part.title}")
    folder.mkdir(parents=True, exist_ok=True)
    log = log_of(folder, part.name)
    if log.exists():
        log.replace(log.with_suffix(".previous.log"))
    environment = {**part.environment, **part.given, MARK: _mark(folder, part.name)}
    process = start_detached(part.command, env=environment, cwd=folder, log=log)
    started = Record(process, part.title, part.address, part.told)
    _write_record(folder, part.name, started)
    if not _comes_up(part, started, timeout):
        died = process.find() is None
        end_part(folder, part.name)
        what = "ended while starting" if died else f"did not answer within {timeout:.0f} s"
        raise StackError(f"{part.title} {what}; the end of its log {log}:\n{last_lines(log)}")
    return True


def end_part(folder: Path, name: str) -> bool:
    """Ends the part's process and whatever bears its mark, and nothing else; False where nothing ran."""
    record = read_record(folder, name)
    ended = record is not None and end(record.process)
    left = processes_marked(_mark(folder, name))
    end_all(left)
    _file(folder, name).unlink(missing_ok=True)
    return ended or bool(left)


def read_record(folder: Path, name: str) -> Record | None:
    """What is written of the part that was last started; None where none is."""
    try:
        plain = json.loads(_file(folder, name).read_text())
        process = ProcessId(int(plain["pid"]), str(plain["start"]))
        return Record(process, plain["title"], plain["address"], list(plain["told"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def log_of(folder: Path, name: str) -> Path:
    """The file that takes the part's output."""
    return folder / f"{name}.log"


def processes_marked(mark: str) -> list[psutil.Process]:
    """Running processes whose environment bears the mark of a part."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark:
                found.append(process)
    return found


def free_port(wanted: int, setting: str) -> int:
    """The wanted port, or any free one for 0; StackError where somebody else has it."""
    try:
        with socket.create_server(("127.0.0.1", wanted)) as listener:
            return listener.getsockname()[1]
    except OSError as error:
        raise StackError(
            f"port {wanted} of {setting} is taken by another program ({error.strerror}): choose another, 0 is any"
        ) from error


def _comes_up(part: Part, record: Record, seconds: float) -> bool:
    begun = time.monotonic()
    while time.monotonic() - begun < seconds and record.process.find():
        if part.answers():
            return True
        time.sleep(0.2)
    return False


def _mark(folder: Path, name: str) -> str:
    return f"{folder.resolve()}/{name}"


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _write_record(folder: Path, name: str, record: Record) -> None:
    plain = {
        "pid": record.process.pid,
        "start": record.process.start,
        "title": record.title,
        "address": record.address,
        "told": record.told,
    }
    write_text(_file(folder, name), json.dumps(plain, indent=1))
