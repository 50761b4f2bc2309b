"""The stack as an operator meets it: up, a run that cron itself made, a run by hand, a repair, down."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable

import httpx
import psutil
import pytest

from infra.stack.part import MARK
from infra.stack.prefect_settings import flow_environment

PORTS = ("--prefect-port", "0", "--mlflow-port", "0", "--dask-port", "0", "--dashboard-port", "0")
SMALL = ("--set", "data.documents=300", "--set", "features.min_df=2", "--set", "models=[{model='Popular'}]")


def eventually(look: Callable[[], bool], seconds: float = 900) -> bool:
    deadline = time.monotonic() + seconds
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(1)
    return seen


def marked(home) -> list[int]:
    """Processes that bear a mark of the stack of this state folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK, "").startswith(str(home)):
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


@pytest.mark.slow
def test_a_stack_that_runs_by_itself(tagflow_at, tmp_path):
    tagflow = tagflow_at(tmp_path / "home")
    states = tagflow.json("up", "--workers", "1", *PORTS)
    assert {state["health"] for state in states.values()} == {"healthy"}
    assert set(states) == {"prefect", "worker", "mlflow", "dask", "dask-workers"}
    api = states["prefect"]["address"] + "/api"
    assert httpx.get(states["mlflow"]["address"] + "/health").text == "OK"

    assert tagflow("up", env={"TAGFLOW_THREADS": "1"}).returncode == 0  # from another shell
    again = tagflow.json("up")  # remembers ports and workers, and starts nothing
    assert {name: one["pid"] for name, one in again.items()} == {name: one["pid"] for name, one in states.items()}

    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = tagflow("up", "--mlflow-port", str(taken.getsockname()[1]))
        assert (refused.returncode, "is taken" in refused.stderr) == (1, True)
        assert tagflow.json("up") == again

    shipped = {one["name"]: one for one in tagflow.json("schedule", "list")["schedules"]}
    assert set(shipped) == {"retrain/nightly", "retrain/weekly", "read/hourly", "compare/monthly"}
    assert not any(one["active"] for one in shipped.values())  # nobody has said what to read

    os.kill(states["worker"]["pid"], signal.SIGKILL)
    found = tagflow("status", "--json")
    assert found.returncode == 1
    assert json.loads(found.stdout)["worker"]["health"].startswith("died")
    repaired = tagflow.json("up")
    assert repaired["worker"]["health"] == "healthy"
    assert repaired["worker"]["pid"] != states["worker"]["pid"]
    assert repaired["prefect"]["pid"] == states["prefect"]["pid"]

    made = tagflow("schedule", "--data", "demo", "--cron", "* * * * *", *SMALL)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("retrain/nightly-demo")

    def runs(created_by: str) -> list[str]:
        body = {"deployments": {"name": {"any_": ["nightly-demo"]}}, "limit": 200}
        found = httpx.post(f"{api}/flow_runs/filter", json=body).json()
        return [run["state_name"] for run in found if (run["created_by"] or {}).get("type") == created_by]

    assert eventually(lambda: "Completed" in runs("SCHEDULE")), tagflow("logs", "worker").stdout
    assert tagflow("schedule", "pause", "nightly-demo").returncode == 0
    listed = {one["name"]: one for one in tagflow.json("schedule", "list")["schedules"]}
    assert not listed["retrain/nightly-demo"]["active"]

    def champions() -> list[str]:
        url = states["mlflow"]["address"] + "/api/2.0/mlflow/registered-models/get"
        answer = httpx.get(url, params={"name": "nightly-demo"}).json()["registered_model"]
        return [one["version"] for one in answer.get("aliases", []) if one["alias"] == "champion"]

    assert champions() == []  # what is no better than Popular is not put into service

    # by hand, with another model: the registry gets a version, and it goes into service
    models = json.dumps({"data.documents": 300, "features.min_df": 2, "models": [{"model": "KNN"}]})
    command = [sys.executable, "-m", "prefect", "deployment", "run", "retrain/nightly-demo"]
    environment = os.environ | flow_environment(tagflow.home, states["prefect"]["address"])
    done = subprocess.run([*command, "--param", f"settings={models}"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    started = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", done.stdout)
    assert started, done.stdout

    def ended() -> bool:
        return httpx.get(f"{api}/flow_runs/{started[0]}").json()["state_type"] in ("COMPLETED", "FAILED", "CRASHED")

    assert eventually(ended), tagflow("logs", "worker").stdout
    assert httpx.get(f"{api}/flow_runs/{started[0]}").json()["state_type"] == "COMPLETED"
    assert champions() == ["2"]
    assert tagflow.json("models")["models"][0]["label"] == "KNN"

    assert tagflow("schedule", "remove", "nightly-demo").returncode == 0
    assert "retrain/nightly-demo" not in {one["name"] for one in tagflow.json("schedule", "list")["schedules"]}
    assert marked(tagflow.home)
    ended = tagflow("down")
    assert ended.stdout.count("stopped") == 5
    assert marked(tagflow.home) == []
    assert not psutil.pid_exists(states["prefect"]["pid"])
    assert tagflow("down").stdout == "nothing was running\n"
    refused = tagflow("schedule", "list")
    assert refused.returncode == 1
    assert "the stack is not up" in refused.stderr
