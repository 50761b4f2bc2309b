"""The environment of the local Prefect server and of the processes that run flows against it.

Nothing leaves the machine, nothing of the user's own Prefect is read or changed, and what a plain run does
not need is off.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

Services = Literal["minimal", "full"]

QUIET = {
    "DO_NOT_TRACK": "true",  # the word: MLflow ignores 1
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
}

# everything but the recorder of task runs, which turns the events of clients into rows
SCHEDULING_SERVICES = (
    "CANCELLATION_CLEANUP",
    "CLEANUP_RECONCILER",
    "EVENT_PERSISTER",
    "FOREMAN",
    "LATE_RUNS",
    "PAUSE_EXPIRATIONS",
    "REPOSSESSOR",
    "SCHEDULER",
    "TRIGGERS",
)


def prefect_home(home: Path) -> Path:
    """The folder of everything that Prefect keeps for this state folder."""
    return home.resolve() / "prefect"


def server_environment(
    home: Path, url: str, services: Services, inherited: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Variables of the server process: `inherited` without any Prefect setting of the user's, and ours."""
    folder = prefect_home(home)
    port = url.rsplit(":", 1)[1]
    ours = {
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_API_HOST": "127.0.0.1",
        "PREFECT_SERVER_API_PORT": port,
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": url,  # the default lets any web page call a local server
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
        # one write per second instead of one per event of each task run
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
        "PREFECT_UI_API_URL": f"{url}/api",
        "PREFECT_UI_STATIC_DIRECTORY": str(folder / "ui"),  # the default is inside the installed package
    }
    if services == "minimal":
        ours |= {f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in SCHEDULING_SERVICES}
        ours["PREFECT_SERVER_REGISTER_BLOCKS_ON_START"] = "false"
    return {k: v for k, v in inherited.items() if not k.startswith("PREFECT_")} | QUIET | ours


def flow_environment(home: Path, url: str | None, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables to set before `import prefect` in a process that runs flows; without a url, Prefect's own
    temporary server, which costs each run half a minute on a slow machine.

    The JSON forms say null, which no plain variable can, and outrank what the user has set.
    """
    environment = QUIET | {
        "PREFECT_HOME": str(prefect_home(home)),
        # a run ends by joining its heartbeat thread, which sleeps a second at a time: 0.5 s a flow on average
        "PREFECT_FLOWS": '{"heartbeat_frequency": null}',
        # the screen belongs to the command; the page of the run still has every line
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    }
    if url is None:
        return environment | {
            "PREFECT_API": '{"url": null}',
            "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
            "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        }
    direct = ",".join(filter(None, (inherited.get("no_proxy") or inherited.get("NO_PROXY"), "127.0.0.1")))
    return environment | {
        "PREFECT_API": f'{{"url": "{url}/api"}}',  # outranks the next line, so it must not be left from elsewhere
        "PREFECT_API_URL": f"{url}/api",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
        "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "false",  # the server asks for none: one request less per client
        "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",  # a server of another version is replaced
        "NO_PROXY": direct,
        "no_proxy": direct,
    }
