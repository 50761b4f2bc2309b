"""Makes this process ready to run flows: settings, Prefect's API, and quiet loggers."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infra.stack.prefect import Server
    from tasks.settings import Settings


def prepare(home: Path | None, say: Callable[[str], None], cluster: str | None = None) -> "Settings":
    """Settings of this process, set in its environment for flows, and its Prefect API, started if need be.

    Call it before anything imports prefect, which reads the environment at import.
    """
    from infra.stack.prefect import connect, ensure_server
    from tagcore.store.files import require_writable
    from tasks.cluster.backends import Cluster
    from tasks.settings import load_settings

    logging.raiseExceptions = False  # a log line that Prefect's server cannot take is no news beside the error itself
    settings = load_settings(home=home, cluster=cluster)
    Cluster.of(settings).backend.require_reachable()  # told now, not when the server has started and data are read
    require_writable(settings.state)
    os.environ["TAGFLOW_HOME"] = str(settings.state)  # flows read their own settings, here or on a worker
    os.environ["TAGFLOW_CLUSTER"] = settings.cluster
    if settings.prefect == "server":
        server = ensure_server(settings.state, say=say, while_starting=partial(_use_the_wait, settings))
        connect(server, settings.state)
    elif settings.prefect == "ephemeral":
        say("starting Prefect's API inside this process (about half a minute)")
        connect(None, settings.state)
    else:
        require_prefect(settings.prefect)
        os.environ["PREFECT_API_URL"] = settings.prefect
        os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    return settings


def _use_the_wait(settings: "Settings", server: "Server") -> None:
    """Does what a first run needs in any case while its server starts: imports, and the tables of the registry.

    Then kernels are compiled beside it, while it reads its documents.
    """
    from infra.stack.prefect import connect

    connect(server, settings.state)
    import flows.experiment
    import flows.nightly  # noqa: F401
    from tagcore.precompile import is_compiled
    from tasks.registry.client import RegistryError, require_reachable
    from tasks.workspace import Workspace

    with suppress(RegistryError):  # a flow that needs the registry says so itself, and a night to whoever shall hear
        require_reachable(Workspace.from_settings(settings).registry)
    if not is_compiled():
        subprocess.Popen([sys.executable, "-m", "tagcore.precompile"], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)


def require_prefect(api: str) -> None:
    """Fails within seconds where no Prefect API answers at the address."""
    import httpx

    from infra.stack.prefect import PrefectServerError

    try:
        answer = httpx.get(f"{api.rstrip('/')}/health", timeout=5)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise PrefectServerError(f"Prefect's API at {api}: cannot be reached ({error})") from error
    # a page instead of JSON is the server's, not the API's
    page = answer.status_code == 200 and "json" not in answer.headers.get("content-type", "")
    if page or answer.status_code == 404 or answer.status_code >= 500:
        what = "a page" if page else f"status {answer.status_code}"
        raise PrefectServerError(
            f"Prefect's API at {api}: {what} at /health, expected the address of an API, such as http://host:4200/api"
        )
