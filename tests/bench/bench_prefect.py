"""Our own Prefect server process against Prefect's public command, `prefect server start --background`, both with the
same settings. Start-up is from the command to the first healthy answer; memory that of all its processes afterwards.
`tagflow run` is the demo again, its results standing, so all of it is start-up, Prefect and MLflow. The flow has 20
flows inside it, each with 10 tasks at once that write an artifact; a 503 is a write that SQLite refused, after which
the client sleeps for two seconds or more. Every figure is the median of three servers; refusals are added up.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil

from infra.stack.prefect import client_environment, ensure_server, stop_server
from infra.stack.prefect_settings import prefect_home, server_environment
from tests.command import Tagflow

REPEATS = 3
STAGES, TASKS = 20, 10
FLOW = f"""
import json, logging, time
from prefect import flow, task
from prefect.artifacts import create_table_artifact

answers = []

class Answers(logging.Handler):
    def emit(self, record):
        answers.append(record.getMessage())

requests = logging.getLogger("httpx")
requests.setLevel(logging.INFO)
requests.addHandler(Answers())

@task
def write(number):
    create_table_artifact(key=f"row-{{number}}", table=[{{"number": number}}])
    return number

@flow
def stage():
    return [future.result() for future in [write.submit(number) for number in range({TASKS})]]

@flow
def job():
    return [stage() for _ in range({STAGES})]

begun = time.perf_counter()
job()
refused = sum(" 503 " in answer for answer in answers)
print(json.dumps({{"seconds": time.perf_counter() - begun, "requests": len(answers), "refused": refused}}))
"""


class ServerUnderTest(ABC):
    """A way to have a server for a state folder."""

    what: str

    @abstractmethod
    def start(self, home: Path) -> tuple[str, int]:
        """Its address and the id of its process, once it answers."""

    @abstractmethod
    def stop(self, home: Path) -> None:
        """Ends the server of this state folder."""


class OwnProcess(ServerUnderTest):
    what = "our process"

    def start(self, home: Path) -> tuple[str, int]:
        server = ensure_server(home, say=lambda text: None)
        return server.url, server.pid

    def stop(self, home: Path) -> None:
        stop_server(home)


class PublicCommand(ServerUnderTest):
    what = "prefect server start --background"

    def __init__(self) -> None:
        self.environment: dict[str, str] = {}

    def start(self, home: Path) -> tuple[str, int]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        prefect_home(home).mkdir(parents=True, exist_ok=True)
        self.environment = server_environment(home, url, "minimal")
        self._prefect("start", "--background")
        while not _is_healthy(url):
            time.sleep(0.05)
        return url, int((prefect_home(home) / "server.pid").read_text())

    def stop(self, home: Path) -> None:
        self._prefect("stop")

    def _prefect(self, *args: str) -> None:
        command = [sys.executable, "-m", "prefect", "server", *args]
        subprocess.run(command, env=self.environment, check=True, stdout=subprocess.DEVNULL)


def run(data: Path | None) -> list[dict[str, Any]]:
    measured: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        demo = Tagflow(Path(folder) / "demo")
        for number in range(REPEATS):
            servers: list[ServerUnderTest] = [OwnProcess(), PublicCommand()]
            for server in servers if number % 2 else reversed(servers):  # neither always has the warmer machine
                home = Path(folder) / f"{type(server).__name__}-{number}"
                measured.setdefault(server.what, []).append(_measure(server, home, demo))
                print(server.what, measured[server.what][-1], flush=True)
        stop_server(demo.home)
    return [{"what": what, **_summary(servers)} for what, servers in measured.items()]


def _measure(server: ServerUnderTest, home: Path, demo: Tagflow) -> dict[str, float]:
    """One server of a new state folder, started twice, and work against it."""
    first, *_ = _started(server, home)
    _stopped(server, home)
    again, url, pid = _started(server, home)
    try:
        megabytes = _resident_bytes(pid) / 1e6
        against = {"TAGFLOW_PREFECT": f"{url}/api"}
        if not demo.home.exists():
            _seconds_of_run(demo, against)
        demo_seconds = _seconds_of_run(demo, against)
        environment = os.environ | client_environment(None, home) | {"PREFECT_API": json.dumps({"url": f"{url}/api"})}
        flow = subprocess.run(
            [sys.executable, "-c", FLOW], env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
        many = json.loads(flow.stdout)
    finally:
        _stopped(server, home)
    return {
        "s to a first answer, new database": first,
        "s to a first answer": again,
        "MB": megabytes,
        "s of `tagflow run`": demo_seconds,
        f"s of {STAGES} flows of {TASKS} tasks": many["seconds"],
        "503": many["refused"],
    }


def _seconds_of_run(demo: Tagflow, against: dict[str, str]) -> float:
    begun = time.perf_counter()
    done = demo("run", env=against)
    if done.returncode:
        raise RuntimeError(f"tagflow run: {done.stderr}")
    return time.perf_counter() - begun


def _started(server: ServerUnderTest, home: Path) -> tuple[float, str, int]:
    begun = time.perf_counter()
    url, pid = server.start(home)
    return time.perf_counter() - begun, url, pid


def _stopped(server: ServerUnderTest, home: Path) -> None:
    """Ends it and waits until it has: a database that is still open would slow the next one down."""
    running = [p for p in psutil.process_iter(["environ"]) if _serves(p, home)]
    server.stop(home)
    psutil.wait_procs(running, timeout=30)


def _serves(process: psutil.Process, home: Path) -> bool:
    return (process.info["environ"] or {}).get("PREFECT_HOME") == str(prefect_home(home))


def _resident_bytes(pid: int) -> int:
    process = psutil.Process(pid)
    return sum(p.memory_info().rss for p in [process, *process.children(recursive=True)])


def _is_healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/api/health", timeout=1).status_code == 200
    except httpx.TransportError:
        return False


def _summary(servers: list[dict[str, float]]) -> dict[str, Any]:
    return {k: (int(sum(s[k] for s in servers)) if k == "503" else median(s[k] for s in servers)) for k in servers[0]}
