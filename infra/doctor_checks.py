"""What a working installation needs, each checked for real."""

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tasks.settings import Settings

PACKAGES = ("numpy", "scipy", "numba", "pyarrow", "scikit-learn", "safetensors", "prefect", "mlflow")
# variables that are no settings: of the local server and its parts, of infra/, of tests and benchmarks
OTHER_VARIABLES = {
    f"TAGFLOW_{name}"
    for name in (
        *("CONFIG", "PREFECT_IDLE_HOURS", "PART", "DEPLOYED", "SCHEDULED", "DATA", "EXAMPLES", "TEST_DATA"),
        *("RIVALS_PYTHON", "CORNAC_PYTHON", "IMPLICIT_PYTHON", "SURPRISE_PYTHON", "GPYTORCH_PYTHON"),
    )
}
TRAPS = {"fastapi": (0, 151), "sqlalchemy": (2, 1)}  # prefect 3.8 breaks, silently, from these versions on


@dataclass(frozen=True)
class Check:
    """One thing that was checked, and what was found."""

    name: str
    state: Literal["ok", "odd", "bad"]  # odd keeps nothing from working
    found: str


def all_checks(home: Path | None) -> list[Check]:
    """Checks of the machine, the installed packages and what the settings of a state folder name."""
    return [*_machine(), *_packages(), *_variables(), *(_guarded(*c) for c in _services(home))]


def _machine() -> Iterator[Check]:
    import psutil

    yield Check("Python", "ok", platform.python_version())
    memory = psutil.virtual_memory()
    yield Check(
        "machine",
        "ok",
        f"{os.cpu_count()} cores, {memory.available / 2**30:.1f} of {memory.total / 2**30:.1f} GiB free",
    )


def _packages() -> Iterator[Check]:
    for name in (*PACKAGES, *TRAPS):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Check(name, "bad", "not installed: run `make setup`")
            continue
        if name not in TRAPS:
            yield Check(name, "ok", version)
            continue
        limit = TRAPS[name]
        good = tuple(int(p) for p in version.split(".")[:2]) < limit
        yield Check(name, "ok" if good else "bad", f"{version}, Prefect 3.8 needs below {'.'.join(map(str, limit))}")


def _variables() -> Iterator[Check]:
    """Variables that look like settings and are read by nothing, as one that was mistyped."""
    from difflib import get_close_matches

    from tasks.settings import PREFIX, Settings

    settings = [f"{PREFIX}{name}".upper() for name in Settings.model_fields]
    for variable in sorted(os.environ):
        if variable.upper().startswith(PREFIX) and variable.upper() not in OTHER_VARIABLES.union(settings):
            close = get_close_matches(variable.upper(), settings, 1)
            meant = f"perhaps {close[0]} is meant" if close else f"expected one of {', '.join(settings)}"
            yield Check(variable, "odd", f"there is no such setting, it is not read; {meant}")


def _services(home: Path | None) -> list[tuple[str, Callable[[], str]]]:
    def settings() -> "Settings":
        from tasks.settings import load_settings

        return load_settings(home=home)

    def configuration() -> str:
        from tasks.cluster.backends import Cluster
        from tasks.state_folder import config_file

        file, chosen = config_file(), settings()
        source = f"{file}" if file.is_file() else f"no {file}"
        where = f"home {chosen.state}, prefect {chosen.prefect}"
        return f"{source}; {where}, cluster {Cluster.of(chosen).backend}"

    def state_folder() -> str:
        from tagcore.store.files import require_writable

        require_writable(settings().state)
        free = shutil.disk_usage(settings().state).free / 2**30
        return f"writable, {free:.1f} GiB free"

    def prefect() -> str:
        chosen = settings().prefect
        if chosen == "ephemeral":
            return "ephemeral: inside each run"
        if chosen != "server":
            from infra.process_setup import require_prefect

            require_prefect(chosen)
            return f"{chosen} answers"
        from infra.stack.prefect import server_status

        server = server_status(settings().state)
        return f"server at {server.url}" if server else "no server running; `tagflow run` starts one"

    def cluster() -> str:
        from tasks.cluster.backends import Cluster

        return Cluster.of(settings()).backend.require_reachable()

    def registry() -> str:
        from tasks.registry.client import champions, require_reachable
        from tasks.workspace import open_workspace

        address = open_workspace(home=home).registry
        require_reachable(address)
        return f"{address} is reachable; in service: {', '.join(champions(address)) or 'nothing yet'}"

    def numba() -> str:
        import numpy as np

        from tagcore.kernels.ranking import best_of_rows

        best_of_rows(np.eye(2), 1)
        return "kernels compile and run"

    return [
        ("configuration", configuration),
        ("state folder", state_folder),
        ("Prefect", prefect),
        ("cluster", cluster),
        ("registry", registry),
        ("numba", numba),
    ]


def _guarded(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, "ok", check())
    except Exception as error:
        return Check(name, "bad", str(error))
