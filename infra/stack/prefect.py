"""A small local Prefect server that is kept between runs: started by the first, found again by the next.

Prefect's temporary server costs every run its start-up; this one costs it once a day. Prefect itself is not
imported here.
"""

import contextlib
import http.client
import json
import logging
import os
import platform
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import get_args

from infra.stack.prefect_settings import Services, flow_environment, prefect_home, server_environment
from infra.stack.process import ProcessId, end, exclusive, last_lines, start_detached
from tagcore.store.files import write_text

IDLE_VARIABLE = "TAGFLOW_PREFECT_IDLE_HOURS"
IDLE_HOURS = 12.0
ANSWER_SECONDS = 10.0  # for a server that has long been up, on a busy machine


class PrefectServerError(RuntimeError):
    """The local Prefect server did not come up."""


@dataclass(frozen=True)
class Server:
    """A running server of a state folder; `started` and `seconds` tell what it took to have it."""

    process: ProcessId
    port: int
    services: Services
    versions: dict[str, str]
    started: bool = False
    seconds: float = 0.0

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        return self.process.pid

    @property
    def url(self) -> str:
        """Where the pages of the runs are; the API is below it at /api."""
        return f"http://127.0.0.1:{self.port}"

    def offers(self, services: Services) -> bool:
        """Whether it has the versions of this process, and at least these services."""
        return self.versions == _versions() and services in ("minimal", self.services)

    def answers(self, seconds: float) -> bool:
        """Whether it is healthy; a server that is still starting keeps the caller waiting for `seconds`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("GET", "/api/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def ensure_server(
    home: Path,
    *,
    say: Callable[[str], None],
    timeout: float = 120,
    services: Services = "minimal",
    port: int = 0,
    while_starting: Callable[[Server], None] = lambda server: None,
) -> Server:
    """The healthy server of this state folder, started if there is none; `say` gets what takes time, and
    `while_starting` is called once with a server that was started and is not ready yet.

    "minimal" records flow runs, task runs, artifacts and logs; "full" also runs schedules, late-run marks,
    automations and events. A server of another version, of fewer services or on another `port` (0: any) is replaced;
    but a full one is the stack's, whose worker and schedules need it: who wants less waits for it, and does not end it.
    """
    if services not in get_args(Services):
        raise ValueError(f"services is {services!r}, expected one of {', '.join(get_args(Services))}")
    begun = time.monotonic()
    idle_seconds = 3600 * _idle_hours()
    folder = prefect_home(home)
    folder.mkdir(parents=True, exist_ok=True)

    def waiting() -> None:
        say("waiting for another run that is starting the Prefect server")

    with exclusive(folder / "server.lock", timeout=timeout, waiting=waiting):
        server = _recorded(home)
        suits = server is not None and server.offers(services) and port in (0, server.port)
        must_stay = server is not None and server.services == "full" and services != "full"
        if server and suits and _comes_up(server, timeout if must_stay else _seconds_to_wait(server, timeout), say):
            return replace(server, seconds=time.monotonic() - begun)
        if server and must_stay:
            why = "does not answer" if suits else "has another version of Prefect or Python than this command"
            whose = f"the stack's Prefect server, process {server.pid},"
            raise PrefectServerError(f"{whose} {why}: `tagflow up` replaces it")
        if server:
            if port not in (0, server.port):
                _listen(port).close()  # one that is taken is refused before anything is ended
            why = "does not answer" if suits else "has another version, fewer services or another port"
            say(f"replacing the Prefect server: process {server.pid} {why}")
            end(server.process)
        server = _start(home, services, port, idle_seconds, say)
        while_starting(server)
        if not _comes_up(server, timeout, say):
            _give_up(home, server, timeout)
        seconds = time.monotonic() - begun
        say(f"Prefect server ready after {seconds:.1f} s: {server.url}")
        return replace(server, started=True, seconds=seconds)


def stop_server(home: Path) -> bool:
    """End the server of this state folder and nothing else; False if none was running."""
    if not _state(home).exists():
        return False
    with exclusive(prefect_home(home) / "server.lock", timeout=120, waiting=lambda: None):
        server = _recorded(home)
        _state(home).unlink(missing_ok=True)
        return server is not None and end(server.process)


def server_status(home: Path) -> Server | None:
    """The server of this state folder if it runs and answers."""
    server = _recorded(home)
    return server if server and server.answers(ANSWER_SECONDS) else None


def last_server(home: Path) -> Server | None:
    """The server that was last started for this state folder and not stopped, whether or not it still runs."""
    try:
        state = json.loads(_state(home).read_text())
        process = ProcessId(int(state["pid"]), str(state["start"]))
        return Server(process, int(state["port"]), state["services"], state["versions"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def client_environment(server: Server | None, home: Path) -> dict[str, str]:
    """Variables to set before `import prefect` in a process that runs flows; None: Prefect's temporary server."""
    prefect_home(home).mkdir(parents=True, exist_ok=True)  # Prefect makes the last folder of its path only
    return flow_environment(home, server.url if server else None)


def connect(server: Server | None, home: Path) -> None:
    """Set this very process up to run flows, before it imports Prefect if it can."""
    os.environ.update(client_environment(server, home))
    # warns at every exit that it is still sending the last events
    logging.getLogger("EventsWorker").setLevel(logging.ERROR)
    if "prefect" in sys.modules:
        from prefect.context import refresh_global_settings_context

        refresh_global_settings_context()


def _state(home: Path) -> Path:
    return prefect_home(home) / "server.json"


def server_log(home: Path) -> Path:
    """The file that takes the server's output."""
    return prefect_home(home) / "server.log"


def _versions() -> dict[str, str]:
    return {"prefect": version("prefect"), "python": platform.python_version()}


def _idle_hours() -> float:
    text = os.environ.get(IDLE_VARIABLE, str(IDLE_HOURS))
    with contextlib.suppress(ValueError):
        if 0 <= (hours := float(text)) < float("inf"):
            return hours
    raise ValueError(f"{IDLE_VARIABLE} is {text!r}, expected hours of disuse after which to end (0: never)")


def _recorded(home: Path) -> Server | None:
    """The server that the state file names, if that very process still runs."""
    server = last_server(home)
    return server if server and server.process.find() else None


def _seconds_to_wait(server: Server, timeout: float) -> float:
    """How long to wait for a running server: one found in the middle of its start gets the rest of its time."""
    return max(ANSWER_SECONDS, timeout - server.process.age())


def _start(home: Path, services: Services, wanted: int, idle_seconds: float, say: Callable[[str], None]) -> Server:
    folder = prefect_home(home)
    fresh = "" if (folder / "prefect.db").exists() else "; its database is made first, this once"
    say(f"starting a local Prefect server, kept for later runs{fresh}")
    if server_log(home).exists():
        server_log(home).replace(folder / "server.previous.log")
    # bound here, so that the port is known at once and nobody can take it in between
    with _listen(wanted) as listener:
        port = listener.getsockname()[1]
        environment = server_environment(home, f"http://127.0.0.1:{port}", services)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (_root(), environment.get("PYTHONPATH"))))
        command = [sys.executable, "-P", "-m", "infra.stack.prefect_server"]
        command += ["--listener", str(listener.fileno()), "--idle-seconds", str(idle_seconds)]
        command += ["--state", str(_state(home)), "--log", str(server_log(home))]
        process = start_detached(command, env=environment, cwd=folder, log=server_log(home), keep=[listener.fileno()])
    server = Server(process, port, services, _versions())
    state = {"pid": process.pid, "start": process.start, "port": port, "services": services}
    write_text(_state(home), json.dumps(state | {"versions": server.versions}, indent=1))
    return server


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise PrefectServerError(
            f"port {port} of prefect_port is taken by another program ({error.strerror}): choose another, 0 is any"
        ) from error


def _root() -> str:
    return str(Path(__file__).parents[2])


def _comes_up(server: Server, seconds: float, say: Callable[[str], None]) -> bool:
    """Wait until the server answers; False once it has died or `seconds` are over."""
    begun = time.monotonic()
    last_message = 0.0
    while (waited := time.monotonic() - begun) < seconds and server.process.find():
        if server.answers(min(1.0, seconds - waited)):
            return True
        if waited - last_message >= 10:
            last_message = waited
            say(f"the Prefect server does not answer yet ({waited:.0f} s)")
        time.sleep(0.05)
    return False


def _give_up(home: Path, server: Server, timeout: float) -> None:
    died = server.process.find() is None
    end(server.process)
    _state(home).unlink(missing_ok=True)
    what = "ended while starting" if died else f"did not answer within {timeout:.0f} s"
    raise PrefectServerError(
        f"the local Prefect server {what}; the end of its log {server_log(home)}:\n{last_lines(server_log(home))}"
    )
