"""The local Prefect server: started once, found again, replaced when it must be, ended alone."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from infra.stack.prefect import (
    PrefectServerError,
    Server,
    ensure_server,
    server_status,
    stop_server,
)
from infra.stack.process import ProcessId

FLOW = """
import sys
from pathlib import Path
from infra.stack.prefect import connect, server_status

home = Path(sys.argv[1])
connect(server_status(home), home)

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.states import Completed

@task
def build():
    get_run_logger().info("building")
    create_table_artifact(key="quality", table=[{"model": "popular", "p1": 0.5}])
    return "features"

@task
def stands():
    return Completed(name="Cached", message="its output stands", data="corpus")

@flow(name="tiny")
def tiny():
    return build(), stands(return_state=True).result()

assert tiny() == ("features", "corpus")
"""

START = """
import sys
from pathlib import Path
from infra.stack.prefect import ensure_server
server = ensure_server(Path(sys.argv[1]), say=lambda text: None)
print(server.pid, server.started)
"""


def eventually(look: Callable[[], bool], seconds: float = 600) -> bool:
    deadline = time.monotonic() + seconds
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return seen


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Server, list[str]]]:
    home = tmp_path_factory.mktemp("served")
    said: list[str] = []
    try:

        def meanwhile(server: Server) -> None:
            said.append(f"{server.url} answers yet: {server.answers(0.05)}")

        yield home, ensure_server(home, say=said.append, while_starting=meanwhile), said
    finally:
        stop_server(home)


@pytest.fixture
def home(tmp_path: Path, served: tuple[Path, Server, list[str]]) -> Iterator[Path]:
    """A state folder with a migrated database, which is most of a first start; what it serves is stopped."""
    (tmp_path / "prefect").mkdir()
    with (
        sqlite3.connect(served[0] / "prefect" / "prefect.db") as ready,
        sqlite3.connect(tmp_path / "prefect" / "prefect.db") as copy,
    ):
        ready.backup(copy)
    try:
        yield tmp_path
    finally:
        stop_server(tmp_path)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]) as process:
        try:
            yield process
        finally:
            process.kill()


def run_flow(home: Path, **variables: str) -> tuple[int, str]:
    """Exit status and what a user would see of a run that goes well: nothing."""
    command = [sys.executable, "-c", FLOW, str(home)]
    run = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    return run.returncode, run.stderr


def state_of(home: Path) -> Path:
    return home / "prefect" / "server.json"


def write_state(home: Path, pid: int, start: str) -> None:
    versions = {"prefect": "2.0", "python": "3.9"}
    state = {"pid": pid, "start": start, "port": 1, "services": "minimal", "versions": versions}
    state_of(home).write_text(json.dumps(state))


def servers_of(home: Path) -> list[int]:
    """Every process, whoever started it, that serves this folder."""
    found = psutil.process_iter(["cmdline"])
    return [p.pid for p in found if str(state_of(home)) in (p.info["cmdline"] or [])]  # a zombie has none


def test_the_first_call_starts_it_and_says_so(served: tuple[Path, Server, list[str]]) -> None:
    home, server, said = served
    assert server.started
    assert "database" in said[0]
    assert server.url in said[-1]
    assert json.loads(state_of(home).read_text())["pid"] == server.pid


def test_the_caller_may_use_the_time_that_a_start_takes(served: tuple[Path, Server, list[str]]) -> None:
    home, server, said = served
    assert said.count(f"{server.url} answers yet: False") == 1
    ensure_server(home, say=print, while_starting=lambda server: pytest.fail("it stands already"))


def test_the_second_call_finds_it(served: tuple[Path, Server, list[str]]) -> None:
    home, server, _ = served
    said: list[str] = []
    again = ensure_server(home, say=said.append)
    assert (again.pid, again.url, again.started, said) == (server.pid, server.url, False, [])
    assert server_status(home) == Server(server.process, server.port, "minimal", server.versions)


def test_it_listens_on_loopback_only(served: tuple[Path, Server, list[str]]) -> None:
    sockets = psutil.Process(served[1].pid).net_connections("inet")
    listening = {s.laddr for s in sockets if s.status == psutil.CONN_LISTEN}
    assert listening == {("127.0.0.1", served[1].port)}


def test_it_is_in_a_session_of_its_own(served: tuple[Path, Server, list[str]]) -> None:
    assert os.getsid(served[1].pid) == served[1].pid


def test_it_refuses_pages_of_other_origins_and_shows_its_own(served: tuple[Path, Server, list[str]]) -> None:
    url = served[1].url
    foreign = httpx.get(f"{url}/api/health", headers={"Origin": "http://elsewhere.example"})
    assert "access-control-allow-origin" not in foreign.headers
    page = httpx.get(url, headers={"Accept": "text/html"}, follow_redirects=True)
    assert page.status_code == 200
    assert "<html" in page.text.lower()


def test_a_flow_is_recorded_with_tasks_artifacts_and_logs(served: tuple[Path, Server, list[str]]) -> None:
    home, server, _ = served
    assert run_flow(home) == (0, "")
    with httpx.Client(base_url=f"{server.url}/api") as api:

        def rows(kind: str, body: dict[str, object]) -> list[dict[str, str]]:
            return api.post(f"/{kind}/filter", json=body).raise_for_status().json()

        [flow_run] = rows("flow_runs", {"flows": {"name": {"any_": ["tiny"]}}})
        assert flow_run["state_type"] == "COMPLETED"
        of_this = {"flow_runs": {"id": {"any_": [flow_run["id"]]}}}

        def states() -> list[str]:
            return sorted(row["state_name"] for row in rows("task_runs", of_this))

        assert eventually(lambda: states() == ["Cached", "Completed"]), states()
        assert [row["key"] for row in rows("artifacts", of_this)] == ["quality"]
        logs = {"logs": {"flow_run_id": {"any_": [flow_run["id"]]}}}
        assert eventually(lambda: "building" in [row["message"] for row in rows("logs", logs)])


def test_runs_started_at_once_share_one_server(
    home: Path, served: tuple[Path, Server, list[str]], bystander: subprocess.Popen[bytes]
) -> None:
    # left behind by a server whose process id belongs to somebody else by now
    write_state(home, bystander.pid, start="0")
    assert server_status(home) is None
    assert not stop_server(home)
    write_state(home, bystander.pid, start="0")

    command = [sys.executable, "-c", START, str(home)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [run.communicate(timeout=600)[0].split() for run in runs]
    [pid] = {int(pid) for pid, _ in answers}
    assert sorted(started for _, started in answers) == ["False", "False", "True"]
    assert servers_of(home) == [pid]

    psutil.Process(pid).kill()
    assert eventually(lambda: servers_of(home) == [])
    again = ensure_server(home, say=print)
    assert again.started
    assert servers_of(home) == [again.pid]

    assert stop_server(home)
    assert servers_of(home) == []
    assert server_status(home) is None
    assert not stop_server(home)
    assert server_status(served[0]) is not None
    assert bystander.poll() is None


def test_another_version_is_replaced_and_an_unused_server_ends_by_itself(
    home: Path, bystander: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_state(home, bystander.pid, start=ProcessId.of(bystander.pid).start)
    monkeypatch.setenv("TAGFLOW_PREFECT_IDLE_HOURS", str(1 / 3600))
    server = ensure_server(home, say=print)
    assert bystander.poll() is not None
    assert server.started
    assert eventually(lambda: servers_of(home) == [])


def test_schedules_need_full_services_and_create_runs(home: Path) -> None:
    server = ensure_server(home, say=print, services="full")
    assert ensure_server(home, say=print, services="minimal").pid == server.pid
    with httpx.Client(base_url=f"{server.url}/api") as api:
        flow = api.post("/flows/", json={"name": "nightly"}).raise_for_status().json()
        cron = {"schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin"}, "active": True}
        deployment = {"name": "nightly", "flow_id": flow["id"], "schedules": [cron]}
        api.post("/deployments/", json=deployment).raise_for_status()
        waiting = {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}}
        assert eventually(lambda: api.post("/flow_runs/count", json=waiting).json() > 0)


def test_a_server_that_cannot_start_shows_its_log(tmp_path: Path) -> None:
    (tmp_path / "prefect").mkdir()
    (tmp_path / "prefect" / "prefect.db").write_text("no database at all " * 100)
    with pytest.raises(PrefectServerError, match=r"(?s)ended while starting.*server\.log.*not a database"):
        ensure_server(tmp_path, say=print)
    assert servers_of(tmp_path) == []
    assert not state_of(tmp_path).exists()


@pytest.mark.slow
def test_without_a_server_a_flow_runs_on_a_temporary_one(tmp_path: Path) -> None:
    home = tmp_path / "not" / "there" / "yet"
    assert run_flow(home, PREFECT_API_URL="http://127.0.0.1:1/api") == (0, "")
    assert (home / "prefect" / "prefect.db").exists()
