"""The whole local stack: Prefect with its worker and schedules, MLflow's pages, a Dask cluster; all on loopback.

Nothing needs it: without it every command runs embedded, in the same state folder.
"""

import http.client
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.stack.deployments import POOL, deploy_shipped, ensure_pool, mark_dead_runs
from infra.stack.part import (
    DIED,
    HEALTHY,
    NO_ANSWER,
    NOT_RUNNING,
    Part,
    PartState,
    Record,
    end_part,
    ensure_part,
    free_port,
    log_of,
    read_record,
)
from infra.stack.prefect import (
    Server,
    client_environment,
    ensure_server,
    last_server,
    server_log,
    server_status,
    stop_server,
)
from infra.stack.prefect_api import PrefectApi
from infra.stack.prefect_settings import QUIET
from infra.stack.process import exclusive
from tagcore.store.files import write_text
from tasks.state_folder import config_file

if TYPE_CHECKING:
    from tasks.settings import Settings

PREFECT, WORKER, MLFLOW, DASK, DASK_WORKERS = "prefect", "worker", "mlflow", "dask", "dask-workers"
TITLES = {
    PREFECT: "Prefect server",
    MLFLOW: "MLflow server",
    DASK: "Dask scheduler",
    DASK_WORKERS: "Dask workers",
    WORKER: "Prefect worker",
}
PAGES = (PREFECT, MLFLOW, DASK)  # the parts that a browser can open
_CHOSEN = ("prefect_port", "mlflow_port", "dask_port", "dashboard_port", "workers", "source", "timezone")
_FILE = "settings_file"  # of what is remembered: no setting itself
_ROOT = str(Path(__file__).parents[2])
_START_SECONDS = 180.0  # of one part on a busy machine


def bring_up(settings: "Settings", say: Callable[[str], None]) -> list[PartState]:
    """Starts what does not run yet, or no longer, and deploys the schedules; what runs as it should is left alone."""
    home, folder = settings.state, stack_folder(settings.state)
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder / "stack.lock", timeout=600, waiting=lambda: say("waiting for another `tagflow up`")):
        remembered = _remembered(folder / "chosen.json")
        chosen = _chosen(settings, remembered)
        file = _settings_file(remembered.get(_FILE))
        settings = settings.model_copy(update=chosen)
        parts = (*_mlflow(settings, folder), *_dask(settings, folder))  # a port that is taken is told before all else
        server = ensure_server(home, say=say, services="full", port=settings.prefect_port, timeout=_START_SECONDS)
        api = PrefectApi(f"{server.url}/api")
        for part in parts:
            ensure_part(part, folder, say=say, timeout=_START_SECONDS)
        if not settings.workers:
            for name in (DASK_WORKERS, DASK):
                end_part(folder, name)
        ensure_pool(api)
        worker = _worker(settings, folder, server, api, file)
        mark_runs = partial(mark_dead_runs, api, say)  # they end with the worker, be it dead or replaced
        ensure_part(worker, folder, say=say, timeout=_START_SECONDS, before_start=mark_runs)
        if deploy_shipped(api, home, settings.source, settings.timezone, {**worker.environment, **worker.given}):
            say("schedules of infra/prefect.yaml deployed")
        # only what has worked is chosen again
        write_text(folder / "chosen.json", json.dumps(chosen | {_FILE: file}, indent=1))
    return stack_states(home)


def _remembered(file: Path) -> dict[str, Any]:
    """What the last `up` that worked had; nothing before the first."""
    with suppress(OSError, ValueError):
        return dict(json.loads(file.read_text()))
    return {}


def _chosen(settings: "Settings", remembered: dict[str, Any]) -> dict[str, Any]:
    """Ports, workers, source and time zone as they were, where they are not set anew."""
    before = {name: value for name, value in remembered.items() if name in _CHOSEN}
    return before | {name: getattr(settings, name) for name in _CHOSEN if name in settings.model_fields_set}


def _settings_file(remembered: str | None) -> str | None:
    """The file of settings that this `up` has read, else the one that the last had, while it is there.

    So an `up` from another folder, as by a timer, takes no settings from the worker and does not replace it.
    """
    here = config_file().absolute()
    if here.is_file():
        return str(here)
    return remembered if remembered and Path(remembered).is_file() else None


def take_down(home: Path) -> list[str]:
    """Ends what `bring_up` started, the worker and its runs first; the titles of what ran."""
    folder = stack_folder(home)
    ended = []
    if folder.is_dir():
        with exclusive(folder / "stack.lock", timeout=600, waiting=lambda: None):
            for name in (WORKER, DASK_WORKERS, DASK, MLFLOW):
                if end_part(folder, name):
                    ended.append(TITLES[name])
    return [*ended, TITLES[PREFECT]] if stop_server(home) else ended


def stack_states(home: Path) -> list[PartState]:
    """Every part with its address and health."""
    states = [_prefect_state(home)]
    api = PrefectApi(f"{states[0].address}/api") if states[0].health == HEALTHY else None
    for name in (WORKER, MLFLOW, DASK, DASK_WORKERS):
        record = read_record(stack_folder(home), name)
        if record is None:
            states.append(PartState(name, TITLES[name], "", NOT_RUNNING))
            continue
        running = record.process.find() is not None
        health = DIED
        if running:
            health = HEALTHY if _answers(name, record, api) else NO_ANSWER
        states.append(PartState(name, TITLES[name], record.address, health, record.process.pid if running else None))
    return states


def _prefect_state(home: Path) -> PartState:
    """Prefect's server; a small one, which `run` keeps and which ends when it is unused, has not died."""
    server = last_server(home)
    if server is None or (server.process.find() is None and server.services != "full"):
        return PartState(PREFECT, TITLES[PREFECT], "", NOT_RUNNING)
    if server.process.find() is None:
        return PartState(PREFECT, TITLES[PREFECT], server.url, DIED)
    health = HEALTHY if server_status(home) else NO_ANSWER
    return PartState(PREFECT, TITLES[PREFECT], server.url, health, server.pid)


def address_of(home: Path, name: str) -> str | None:
    """Where a browser finds the page of a part that runs; None where it does not run."""
    if name == PREFECT:
        server = server_status(home)
        return server.url if server else None
    record = read_record(stack_folder(home), name)
    if record is None or record.process.find() is None:
        return None
    return _option(record, "--dashboard-address", "http://{}/status") if name == DASK else record.address


def log_file(home: Path, name: str) -> Path:
    """The file that takes the output of a part; ValueError for one that there is not."""
    if name not in TITLES:
        raise ValueError(f"there is no part {name!r} of the stack, expected one of {', '.join(TITLES)}")
    return server_log(home) if name == PREFECT else log_of(stack_folder(home), name)


def stack_folder(home: Path) -> Path:
    """The folder of the parts' records and logs."""
    return home.resolve() / "stack"


def _answers(name: str, record: Record, api: PrefectApi | None) -> bool:
    if name == WORKER:
        return api is not None and _worker_online(api)
    if name == MLFLOW:
        return _is_healthy(record.address)
    dashboard = f"http://{_option(record, '--dashboard-address')}" if name == DASK else record.address
    return _is_healthy(dashboard) and (name == DASK or _dask_workers(dashboard) > 0)


def _mlflow(settings: "Settings", folder: Path) -> list[Part]:
    """The pages and the API of the registry: the very database that embedded runs write to. None of a server of the
    user's own."""
    if settings.mlflow is not None:
        return []
    port = _port(folder, MLFLOW, "--port", settings.mlflow_port, "mlflow_port")
    command = ["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", settings.tracking_uri.get_secret_value()]
    command += ["--default-artifact-root", settings.artifacts.as_uri(), "--no-serve-artifacts"]
    if not settings.database.exists():
        from tasks.registry.client import require_reachable
        from tasks.workspace import Workspace

        require_reachable(Workspace.from_settings(settings).registry)  # made under a lock, as MLflow's server does not
    address = f"http://127.0.0.1:{port}"
    # its queue of jobs is for features of MLflow that nothing here uses, and several processes
    environment = _environment() | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    health = partial(_is_healthy, address)
    return [Part(MLFLOW, TITLES[MLFLOW], [sys.executable, *command], environment, address, health)]


def _dask(settings: "Settings", folder: Path) -> list[Part]:
    """A scheduler with its dashboard, and one worker process for every core or as many as were asked for."""
    if not settings.workers:
        return []
    port = _port(folder, DASK, "--port", settings.dask_port, "dask_port")
    dashboard = _port(folder, DASK, "--dashboard-address", settings.dashboard_port, "dashboard_port")
    address, pages = f"tcp://127.0.0.1:{port}", f"http://127.0.0.1:{dashboard}"
    scheduler = ["-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", str(port)]
    scheduler += ["--dashboard-address", f"127.0.0.1:{dashboard}"]
    count = str(settings.workers)
    workers = ["-m", "dask", "worker", address, "--host", "127.0.0.1", "--nworkers", count, "--nthreads", "1"]
    workers += ["--no-dashboard", "--local-directory", str(folder / "dask-scratch")]
    if settings.memory != "auto":
        workers += ["--memory-limit", settings.memory]
    environment = _environment() | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    return [
        Part(DASK, TITLES[DASK], [sys.executable, *scheduler], environment, address, partial(_is_healthy, pages)),
        Part(
            DASK_WORKERS,
            TITLES[DASK_WORKERS],
            [sys.executable, *workers],
            environment,
            pages,
            lambda: _dask_workers(pages) >= settings.workers,
        ),
    ]


def _worker(settings: "Settings", folder: Path, server: Server, api: PrefectApi, file: str | None) -> Part:
    """Takes runs from Prefect and starts a process for each, which trains on the stack's Dask cluster.

    Runs work in a folder of their own and read the settings of `file` there, each anew: its words replace no worker.
    """
    command = ["-m", "prefect", "worker", "start", "--pool", POOL, "--type", "process", "--name", "tagflow"]
    dask = read_record(folder, DASK)
    cluster = settings.cluster
    if cluster == "none" and settings.workers and dask is not None:
        cluster = dask.address
    environment = _environment() | client_environment(server, settings.state)
    given = {name: value for name, value in environment.items() if name.startswith("PREFECT_API")}
    given |= {"TAGFLOW_HOME": str(settings.state), "TAGFLOW_CLUSTER": cluster}
    if file is not None:
        given["TAGFLOW_CONFIG"] = file
    if settings.mlflow is not None:
        given["TAGFLOW_MLFLOW"] = settings.mlflow.get_secret_value()
    if settings.root is not None:
        given["TAGFLOW_ROOT"] = settings.cluster_root
    if (mlflow := read_record(folder, MLFLOW)) is not None:
        given["TAGFLOW_MLFLOW_PAGE"] = mlflow.address
    # a worker that was killed leaves its record in Prefect as online: the log, which is new, tells of this one
    log = log_of(folder, WORKER)
    return Part(
        WORKER,
        TITLES[WORKER],
        [sys.executable, *command],
        environment,
        f"pool {POOL}",
        lambda: log.exists() and "started!" in log.read_text(errors="replace") and _worker_online(api),
        given,
    )


def _environment() -> dict[str, str]:
    """Of every part: nothing of the user's Prefect or MLflow, nothing told to their makers, this very code."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_"))}
    paths = os.pathsep.join(filter(None, (_ROOT, kept.get("PYTHONPATH"))))
    return kept | QUIET | {"PYTHONPATH": paths, "PYTHONUNBUFFERED": "1", "GIT_PYTHON_REFRESH": "quiet"}


def _port(folder: Path, name: str, option: str, wanted: int, setting: str) -> int:
    """The port of a part that runs, where it is the wanted one or any will do; else a free one."""
    record = read_record(folder, name)
    if record is not None and record.process.find() is not None:
        has = int(_option(record, option).rpartition(":")[2])
        if wanted in (0, has):
            return has
    if record is not None and record.process.find() is None:
        end_part(folder, name)  # what it left may hold the port
    return free_port(wanted, setting)


def _option(record: Record, option: str, form: str = "{}") -> str:
    """What a part was started with."""
    return form.format(record.told[record.told.index(option) + 1])


def _worker_online(api: PrefectApi) -> bool:
    with suppress(Exception):
        workers: Sequence[dict[str, Any]] = api.call("POST", f"work_pools/{POOL}/workers/filter", {})
        return any(worker["status"] == "ONLINE" for worker in workers)
    return False


def _is_healthy(address: str) -> bool:
    return _get(address, "/health") is not None


def _dask_workers(dashboard: str) -> int:
    with suppress(ValueError, KeyError, TypeError):
        return int(json.loads(_get(dashboard, "/json/counts.json") or "")["workers"])
    return 0


def _get(address: str, path: str) -> bytes | None:
    """What a local server answers; None where it does not."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read() if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
