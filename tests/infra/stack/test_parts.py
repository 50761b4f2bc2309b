"""What the local Prefect server is made of: its environment, its process, its housekeeping, its database."""

import asyncio
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.stack import idle
from infra.stack.prefect import PrefectServerError, client_environment, ensure_server, server_status, stop_server
from infra.stack.prefect_settings import prefect_home, server_environment
from infra.stack.process import ProcessId, end, exclusive

WRITERS = """
import asyncio, sys
from prefect.server.database.configurations import AioSqliteConfiguration
from sqlalchemy import text
from infra.stack.prefect_server import QueuedWrites

async def count(database, writers=8):
    engine = await database.engine()
    async with engine.begin() as connection:
        await connection.execute(text("drop table if exists counter"))
        await connection.execute(text("create table counter as select 0 as n"))

    async def add():
        async with await database.session(engine) as session, database.begin_transaction(session):
            n = (await session.execute(text("select n from counter"))).scalar_one()
            await asyncio.sleep(0.02)
            await session.execute(text(f"update counter set n = {n + 1}"))

    failed = [e for e in await asyncio.gather(*(add() for _ in range(writers)), return_exceptions=True) if e]
    async with engine.begin() as connection:
        return len(failed), (await connection.execute(text("select n from counter"))).scalar_one()

for kind in (QueuedWrites, AioSqliteConfiguration):
    print(asyncio.run(count(kind(connection_url="sqlite+aiosqlite:///" + sys.argv[1]))))
"""


def test_writers_queue_where_prefects_own_fail(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITERS, str(tmp_path / "counter.db")]
    environment = os.environ | client_environment(None, tmp_path)
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    queued, own = run.stdout.splitlines()
    assert queued == "(0, 8)"
    assert own != "(0, 8)", "Prefect's transactions queue by themselves now: QueuedWrites can go"


def test_the_server_queues_its_writes(tmp_path: Path) -> None:
    code = """
import asyncio, sys, uvicorn
from pathlib import Path
from prefect.server.database import provide_database_interface
from infra.stack.prefect_server import serve

async def show(server, sockets):
    print(type(provide_database_interface().database_config).__name__)

uvicorn.Server.serve = show
asyncio.run(serve(None, 0, Path(sys.argv[1]), Path(sys.argv[1])))
"""
    environment = os.environ | client_environment(None, tmp_path)
    command = [sys.executable, "-c", code, str(tmp_path / "none")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "QueuedWrites"


@pytest.mark.parametrize("hours", ["a day", "-1", "nan", "inf"])
def test_odd_idle_hours_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: str) -> None:
    monkeypatch.setenv("TAGFLOW_PREFECT_IDLE_HOURS", hours)
    with pytest.raises(ValueError, match=f"TAGFLOW_PREFECT_IDLE_HOURS is '{hours}'"):
        ensure_server(tmp_path, say=print)


def test_unknown_services_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'some', expected one of minimal, full"):
        ensure_server(tmp_path, say=print, services="some")  # type: ignore[arg-type]


@pytest.mark.parametrize("state", ["", "{", "[]", "{}", '{"pid": null}', '{"pid": 1, "start": "0", "port": "x"}'])
def test_a_broken_state_file_names_no_server(tmp_path: Path, state: str) -> None:
    (tmp_path / "prefect").mkdir()
    (tmp_path / "prefect" / "server.json").write_text(state)
    assert server_status(tmp_path) is None
    assert not stop_server(tmp_path)


def test_the_users_own_prefect_is_left_alone(tmp_path: Path) -> None:
    theirs = {"PREFECT_API_DATABASE_CONNECTION_URL": "postgresql://theirs", "PREFECT_PROFILE": "theirs", "PATH": "/bin"}
    ours = server_environment(tmp_path, "http://127.0.0.1:4", "minimal", theirs)
    assert "theirs" not in " ".join(ours.values())
    assert ours["PATH"] == "/bin"
    assert ours["PREFECT_HOME"] == client_environment(None, tmp_path)["PREFECT_HOME"] == str(tmp_path / "prefect")


def test_a_process_that_has_prefect_already_can_still_be_connected(tmp_path: Path) -> None:
    code = f"""
import prefect.settings
from pathlib import Path
from infra.stack.prefect import Server, connect
from infra.stack.process import ProcessId
for server in (None, Server(ProcessId(1, "0"), 4, "minimal", {{}})):
    connect(server, Path({str(tmp_path)!r}))
    settings = prefect.settings.get_current_settings()
    print(settings.api.url, settings.flows.heartbeat_frequency, settings.home)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    home = tmp_path / "prefect"
    assert run.stdout.splitlines() == [f"None None {home}", f"http://127.0.0.1:4/api None {home}"]


def test_importing_the_stack_imports_no_prefect() -> None:
    code = (
        "import sys, infra.stack.prefect; print(sorted({'prefect', 'httpx', 'pydantic', 'uvicorn'} & {*sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_process_that_ignores_sigterm_is_killed_with_its_children() -> None:
    code = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
print(child.pid, flush=True)
time.sleep(300)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = int(parent.stdout.readline()), parent.pid
        child, identity = map(ProcessId.of, pids)
        assert not end(ProcessId(parent.pid, child.start))
        assert end(identity, deadline=1)
    assert child.find() is None
    assert not end(identity)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere start times stand")
def test_a_process_is_known_when_the_clock_was_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    """which moves the start times that Linux tells: a stack that runs for days would count as dead."""
    identity, told = ProcessId.of(os.getpid()), psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: told(self) + 60)
    assert identity.find() is not None
    assert ProcessId.of(os.getpid()) == identity


def test_the_age_of_a_process_is_less_than_that_of_its_parent_and_nothing_once_it_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        identity = ProcessId.of(process.pid)
        assert 0 <= identity.age() < ProcessId.of(os.getpid()).age()
    assert identity.age() == 0.0


def test_a_lock_that_is_not_given_back_is_named(tmp_path: Path) -> None:
    waited: list[bool] = []
    lock = tmp_path / "server.lock"
    with (
        exclusive(lock, timeout=1, waiting=lambda: None),
        pytest.raises(TimeoutError, match=r"server\.lock is still held"),
        exclusive(lock, timeout=0.3, waiting=lambda: waited.append(True)),
    ):
        pass
    assert waited == [True]


@dataclass
class FakeServer:
    started: bool = True
    should_exit: bool = False


def test_open_connections_count_as_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "CHECK_SECONDS", 0.01)
    state = tmp_path / "server.json"
    state.write_text(json.dumps({"pid": os.getpid()}))
    released = asyncio.Event()

    async def until_released(*_: object) -> None:
        await released.wait()

    async def story() -> None:
        activity, server = idle.IdleTracker(until_released), FakeServer()
        ending = idle.end_when_idle(server, activity, idle_seconds=0.05, state=state, log=tmp_path / "log")
        ending_task = asyncio.create_task(ending)
        socket = asyncio.create_task(activity({"type": "websocket"}, until_released, until_released))
        await asyncio.sleep(0.3)
        assert not server.should_exit
        released.set()
        await socket
        await asyncio.wait_for(ending_task, timeout=600)
        assert server.should_exit

    asyncio.run(story())


@pytest.mark.parametrize("state", [None, "{}", '{"pid": 1}'])
def test_a_server_that_is_no_longer_named_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str | None
) -> None:
    monkeypatch.setattr(idle, "CHECK_SECONDS", 0.01)
    if state is not None:
        (tmp_path / "server.json").write_text(state)
    server = FakeServer()
    ending = idle.end_when_idle(
        server, idle.IdleTracker(None), idle_seconds=0, state=tmp_path / "server.json", log=tmp_path / "log"
    )  # type: ignore[arg-type]
    asyncio.run(asyncio.wait_for(ending, timeout=600))
    assert server.should_exit


@given(
    lines=st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), max_size=60), limit=st.integers(2, 500)
)
def test_a_long_log_keeps_its_newest_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], limit: int
) -> None:
    log = tmp_path_factory.mktemp("logs") / "server.log"
    whole = b"".join(line + b"\n" for line in lines)
    log.write_bytes(whole)
    idle.shorten_log(log, limit)
    kept = log.read_bytes()
    assert whole.endswith(kept)
    assert len(kept) <= limit
    assert kept == whole or len(kept) <= limit // 2
    assert not kept or whole[: len(whole) - len(kept)][-1:] in (b"\n", b"")


@pytest.fixture
def mute_server(tmp_path: Path) -> Iterator[tuple[Callable[[dict[str, str]], Path], subprocess.Popen[bytes]]]:
    """Writes the state of a full server of some versions, which runs and does not answer."""
    running = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    def write(versions: dict[str, str]) -> Path:
        state = {"pid": running.pid, "start": ProcessId.of(running.pid).start, "port": 9}
        folder = prefect_home(tmp_path)
        folder.mkdir(parents=True)
        (folder / "server.json").write_text(json.dumps(state | {"services": "full", "versions": versions}))
        return folder / "server.json"

    try:
        yield write, running
    finally:
        running.kill()
        running.wait()


def test_a_port_that_is_taken_is_refused_before_the_server_that_runs_is_ended(tmp_path: Path, mute_server) -> None:
    write, running = mute_server
    write({})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PrefectServerError, match=f"port {port} of prefect_port is taken"):
            ensure_server(tmp_path, say=lambda text: None, services="full", port=port)
    assert running.poll() is None


@pytest.mark.parametrize(
    ("versions", "why"),
    [
        ({"prefect": "2.0", "python": "3.9"}, "has another version of Prefect or Python than this command"),
        ({"prefect": version("prefect"), "python": platform.python_version()}, "does not answer"),
    ],
)
def test_a_run_does_not_end_the_server_of_the_stack(tmp_path: Path, mute_server, versions, why) -> None:
    write, running = mute_server
    state = write(versions)
    before = state.read_text()
    with pytest.raises(PrefectServerError, match=rf"^the stack's Prefect server, .* {why}: `tagflow up` replaces it$"):
        ensure_server(tmp_path, say=lambda text: None, timeout=0.5)
    assert (running.poll(), state.read_text()) == (None, before)
