"""Deployments: what Prefect runs by itself. The house's own stand in infra/prefect.yaml; people add theirs."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.stack.prefect import PrefectServerError
from infra.stack.prefect_api import PrefectApi
from tasks.timezones import require_timezone

POOL = TAG = "tagflow"
FILE = Path(__file__).parents[1] / "prefect.yaml"
SHIPPED = {"retrain": "nightly", "read": "hourly", "compare": "monthly"}  # each flow's deployment that others copy
_ROOT = Path(__file__).parents[2]
_OPEN_STATES = ["RUNNING", "PENDING", "CANCELLING"]


class ScheduleError(ValueError):
    """There is no such schedule, or it cannot be made."""


@dataclass(frozen=True)
class Scheduled:
    """A deployment as a person sees it."""

    id: str
    name: str  # retrain/nightly
    cron: str
    timezone: str
    active: bool
    data: str
    recipe: str
    next_run: str | None
    last_state: str | None


def local_timezone() -> str:
    """The machine's time zone by its name, such as Europe/Berlin; UTC where it has none."""
    place = str(Path("/etc/localtime").resolve())
    return os.environ.get("TZ") or (place.partition("zoneinfo/")[2] or "UTC")


def deploy_shipped(
    api: PrefectApi, home: Path, source: str | None, timezone: str | None, environment: Mapping[str, str]
) -> bool:
    """Gives infra/prefect.yaml to Prefect, unless it has it with these very values; False if it had.

    Without a `source` the schedules stand there, paused: there is nothing of the user's to read yet.
    """
    values = {
        "TAGFLOW_HOME": str(home),
        "TAGFLOW_SOURCE": source or "demo",
        "TAGFLOW_TIMEZONE": require_timezone(timezone or local_timezone(), "time zone"),
        "TAGFLOW_SCHEDULED": "true" if source else "false",
    }
    content = FILE.read_bytes() + repr(sorted(values.items())).encode()
    version = hashlib.sha256(content).hexdigest()[:16]
    deployed = [one for one in _deployments(api) if one["version"] == version]
    if len(deployed) == FILE.read_text().count("\n  - name: "):
        return False
    ensure_pool(api)
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(FILE)]
    done = subprocess.run(
        command,
        env={**environment, **values, "TAGFLOW_DEPLOYED": version},
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise PrefectServerError(f"{FILE} was not deployed:\n{(done.stdout + done.stderr)[-3000:]}")
    return True


def ensure_pool(api: PrefectApi) -> None:
    """The pool that workers of the stack take runs from, made if it is not there."""
    if api.call("GET", f"work_pools/{POOL}", missing=False) is False:
        api.call("POST", "work_pools/", {"name": POOL, "type": "process"})


def add_schedule(
    api: PrefectApi, flow: str, name: str, cron: str, timezone: str | None, parameters: dict[str, Any]
) -> str:
    """Makes or changes a deployment of one of the house's flows; gives its full name."""
    zone = require_timezone(timezone or local_timezone(), "time zone")
    like = api.call("GET", f"deployments/name/{flow}/{SHIPPED[flow]}", missing=False)
    if like is False:
        raise ScheduleError(f"Prefect at {api.url} knows no {flow}/{SHIPPED[flow]}: `tagflow up` first")
    copied = ("flow_id", "entrypoint", "path", "pull_steps", "job_variables", "parameter_openapi_schema")
    body = {key: like[key] for key in copied} | {
        "name": name,
        "description": f"{flow} of {parameters['data']}, made by `tagflow schedule`.",
        "parameters": parameters,
        "tags": [TAG],
        "work_pool_name": POOL,
        "concurrency_limit": 1,
        "concurrency_options": like["concurrency_options"],
        "enforce_parameter_schema": True,
        "schedules": [{"schedule": {"cron": cron, "timezone": zone}, "active": True}],
    }
    api.call("POST", "deployments/", body)
    return f"{flow}/{name}"


def require_cron(cron: str) -> str:
    """The cron fields, where Prefect's scheduler can read them; else a ScheduleError."""
    from prefect.client.schemas.schedules import CronSchedule  # its rule is the server's

    try:
        CronSchedule(cron=cron)
    except ValueError:
        fields = "minute, hour, day, month and day of the week"
        raise ScheduleError(f"cron {cron!r}: expected five fields, {fields}, such as '0 2 * * 1-5'") from None
    return cron


def schedules(api: PrefectApi) -> list[Scheduled]:
    """All deployments of the house, by name, with their next and last runs."""
    return sorted((_scheduled(api, one) for one in _deployments(api)), key=lambda one: one.name)


def set_active(api: PrefectApi, name: str, active: bool) -> None:
    """Pauses or resumes the schedules of a deployment; runs by hand are always possible."""
    deployment = _find(api, name)
    for schedule in deployment["schedules"]:
        api.call("PATCH", f"deployments/{deployment['id']}/schedules/{schedule['id']}", {"active": active})


def remove_schedule(api: PrefectApi, name: str) -> None:
    """Removes a deployment; its past runs stay to be looked at."""
    api.call("DELETE", f"deployments/{_find(api, name)['id']}")


def mark_dead_runs(api: PrefectApi, say: Callable[[str], None]) -> None:
    """Marks runs as crashed that no process runs any more: called when the only worker has just died.

    Else they would stand as running for ever, and hold their deployment's only place.
    """
    states = {"state": {"type": {"any_": _OPEN_STATES}}, "deployment_id": {"is_null_": False}}
    for run in api.call("POST", "flow_runs/filter", {"flow_runs": states, "work_pools": {"name": {"any_": [POOL]}}}):
        say(f"run {run['name']}: its process ended with the worker, it is marked as crashed")
        state = {"type": "CRASHED", "name": "Crashed", "message": "the worker of the stack ended"}
        api.call("POST", f"flow_runs/{run['id']}/set_state", {"state": state, "force": True})


def _deployments(api: PrefectApi) -> list[dict[str, Any]]:
    return api.call("POST", "deployments/filter", {"deployments": {"tags": {"all_": [TAG]}}})


def _find(api: PrefectApi, name: str) -> dict[str, Any]:
    """The deployment that is called so, with or without its flow's name."""
    names = {f"{_flow_name(api, one)}/{one['name']}": one for one in _deployments(api)}
    found = [full for full in names if name in (full, full.partition("/")[2])]
    if len(found) != 1:
        count = len(found) or "no"
        raise ScheduleError(f"{name!r} names {count} schedules, expected one of {', '.join(sorted(names))}")
    return names[found[0]]


def _flow_name(api: PrefectApi, deployment: dict[str, Any]) -> str:
    return api.call("GET", f"flows/{deployment['flow_id']}")["name"]


def _scheduled(api: PrefectApi, deployment: dict[str, Any]) -> Scheduled:
    of_it = {"deployments": {"id": {"any_": [deployment["id"]]}}, "limit": 1}
    waiting = {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}, "sort": "EXPECTED_START_TIME_ASC"}
    # one that was left out, as another was at work, has begun and been cancelled at once
    ran = {"start_time": {"is_null_": False}, "state": {"type": {"not_any_": ["CANCELLED", "SCHEDULED"]}}}
    begun = {"flow_runs": ran, "sort": "START_TIME_DESC"}
    coming = api.call("POST", "flow_runs/filter", of_it | waiting)
    past = api.call("POST", "flow_runs/filter", of_it | begun)
    schedule: dict[str, Any] = {"schedule": {}, "active": False}
    schedule = deployment["schedules"][0] if deployment["schedules"] else schedule
    parameters = deployment["parameters"]
    return Scheduled(
        id=deployment["id"],
        name=f"{_flow_name(api, deployment)}/{deployment['name']}",
        cron=schedule["schedule"].get("cron", ""),
        timezone=schedule["schedule"].get("timezone") or "",
        active=bool(schedule["active"]) and not deployment["paused"],
        data=parameters.get("data", ""),
        recipe=parameters.get("recipe", ""),
        next_run=coming[0]["expected_start_time"] if coming else None,
        last_state=past[0]["state_name"] if past else None,
    )
