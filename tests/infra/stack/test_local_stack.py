"""Bringing the stack up: what is remembered, what is left alone, and the runs of a worker that is replaced."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr

from infra.stack import local_stack
from infra.stack.local_stack import WORKER, bring_up, stack_folder
from infra.stack.part import Part, StackError, end_part, log_of, read_record
from infra.stack.prefect import PrefectServerError, Server
from infra.stack.process import ProcessId
from tasks.settings import load_settings

SERVER = Server(ProcessId(os.getpid(), "0"), 4200, "full", {})
WAIT = "import time; print('ready', flush=True); time.sleep(600)"


@dataclass
class ApiWithARun:
    """Prefect's API, with one run at work."""

    url: str = "http://127.0.0.1:9/api"
    set_states: list[dict[str, Any]] = field(default_factory=list)

    def call(self, method: str, path: str, body: Any = None, *, missing: Any = None) -> Any:
        if path == "flow_runs/filter":
            return [{"id": "1", "name": "tonight"}]
        if path.endswith("/set_state"):
            self.set_states.append(body["state"])
        return {}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A state folder with an `up` that worked in its past; ports of a machine at work are not asked for."""
    monkeypatch.delenv("TAGFLOW_MLFLOW", raising=False)
    folder = stack_folder(tmp_path / "home")
    folder.mkdir(parents=True)
    ports = ("prefect_port", "mlflow_port", "dask_port", "dashboard_port")
    (folder / "chosen.json").write_text(json.dumps(dict.fromkeys(ports, 0) | {"workers": 1}))
    yield tmp_path / "home"
    end_part(folder, WORKER)


@pytest.fixture
def api(monkeypatch):
    """All that bring_up asks of Prefect, without a Prefect: its server runs, and the worker is a small process."""
    api = ApiWithARun()

    def worker(settings, folder, server, api, file):
        log = log_of(folder, WORKER)
        environment, given = dict(os.environ), {"TAGFLOW_CLUSTER": settings.cluster, "TAGFLOW_CONFIG": str(file)}
        command = [sys.executable, "-c", WAIT]
        return Part(WORKER, "worker", command, environment, "", lambda: "ready" in log.read_text(), given)

    monkeypatch.setattr(local_stack, "ensure_server", lambda *args, **more: SERVER)
    monkeypatch.setattr(local_stack, "PrefectApi", lambda url: api)
    monkeypatch.setattr(local_stack, "deploy_shipped", lambda *args: False)
    monkeypatch.setattr(local_stack, "_worker", worker)
    return api


def chosen(home):
    return json.loads((stack_folder(home) / "chosen.json").read_text())


def test_what_was_refused_is_not_remembered(home):
    before = chosen(home)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StackError, match=f"port {port} of mlflow_port is taken"):
            bring_up(load_settings(home=home, mlflow_port=port), lambda line: None)
    assert chosen(home) == before


def test_what_has_worked_is_remembered_and_what_failed_at_the_end_is_not(home, api, monkeypatch):
    def refuse(*args):
        raise PrefectServerError("not deployed")

    own = {"home": home, "mlflow": SecretStr("http://127.0.0.1:9")}
    with monkeypatch.context() as patch:
        patch.setattr(local_stack, "deploy_shipped", refuse)
        with pytest.raises(PrefectServerError, match="not deployed"):
            bring_up(load_settings(**own, workers=0, timezone="Europe/Berlin"), lambda line: None)
    assert (chosen(home)["workers"], chosen(home).get("timezone")) == (1, None)
    bring_up(load_settings(**own, workers=0, timezone="Europe/Berlin"), lambda line: None)
    assert (chosen(home)["workers"], chosen(home)["timezone"]) == (0, "Europe/Berlin")


def test_runs_end_with_a_worker_that_is_replaced_and_go_on_with_one_that_is_not(home, api):
    own = {"home": home, "mlflow": SecretStr("http://127.0.0.1:9"), "workers": 0}
    bring_up(load_settings(**own), lambda line: None)
    api.set_states.clear()
    bring_up(load_settings(**own), lambda line: None)
    assert api.set_states == []
    bring_up(load_settings(**own, cluster="local:2"), lambda line: None)
    assert [state["type"] for state in api.set_states] == ["CRASHED"]


def test_no_part_is_another_one_for_a_shell_with_other_variables(home, monkeypatch):
    settings, folder, api = load_settings(home=home, workers=1), stack_folder(home), ApiWithARun()
    settings.database.touch()
    monkeypatch.setattr(local_stack, "free_port", lambda wanted, setting: 5000)

    def told() -> list[list[str]]:
        parts = (*local_stack._mlflow(settings, folder), *local_stack._dask(settings, folder))
        return [part.told for part in (*parts, local_stack._worker(settings, folder, SERVER, api, None))]

    before = told()
    monkeypatch.setenv("TAGFLOW_THREADS", "1")
    monkeypatch.setenv("TAGFLOW_NOTIFY_COMMAND", "mail ops@example.org")
    assert told() == before
    elsewhere = local_stack._worker(load_settings(home=home, cluster="tcp://there:1"), folder, SERVER, api, None)
    assert elsewhere.told != before[-1]


def test_runs_of_the_worker_read_the_file_of_settings_wherever_they_work_and_variables_outrank_it(
    home, tmp_path, monkeypatch
):
    (tmp_path / "tagflow.toml").write_text('notify_command = "mail ops@example.org"\nthreads = 3\n')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.delenv("TAGFLOW_CONFIG", raising=False)
    monkeypatch.setenv("TAGFLOW_THREADS", "7")
    monkeypatch.chdir(tmp_path)
    file = local_stack._settings_file(None)
    worker = local_stack._worker(load_settings(home=home), stack_folder(home), SERVER, ApiWithARun(), file)
    code = "from tasks.settings import load_settings; s = load_settings(); print(s.notify_command, s.threads, s.state)"
    environment = {**worker.environment, **worker.given}
    command, work = [sys.executable, "-c", code], tmp_path / "elsewhere"
    done = subprocess.run(command, env=environment, cwd=work, capture_output=True, text=True, check=True)
    assert done.stdout == f"mail ops@example.org 7 {home}\n"


def test_a_worker_is_replaced_for_another_file_of_settings_and_not_for_an_up_without_one(
    home, api, tmp_path, monkeypatch
):
    monkeypatch.delenv("TAGFLOW_CONFIG", raising=False)
    own = {"home": home, "mlflow": SecretStr("http://127.0.0.1:9"), "workers": 0}

    def replaces(folder: str, text: str | None = None) -> bool:
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        if text is not None:
            (tmp_path / folder / "tagflow.toml").write_text(text)
        before = read_record(stack_folder(home), WORKER)
        bring_up(load_settings(**own), lambda line: None)
        return read_record(stack_folder(home), WORKER) != before

    assert replaces("none")  # the first
    assert replaces("here", text="threads = 1\n")
    assert not replaces("here", text="threads = 2\n")  # runs read it anew
    assert not replaces("none")
    monkeypatch.setenv("TAGFLOW_CONFIG", str(tmp_path / "here" / "tagflow.toml"))
    assert not replaces("none")
    monkeypatch.delenv("TAGFLOW_CONFIG")
    assert replaces("there", text="threads = 2\n")
    (tmp_path / "there" / "tagflow.toml").unlink()
    assert replaces("none")  # to read what is gone would end every run
