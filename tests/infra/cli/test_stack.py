"""`tagflow up`: what schedules read; `tagflow status`: its exit code tells whether a part needs repair."""

import json
import os

import pytest

from infra.cli.stack import up
from infra.stack import local_stack
from infra.stack.local_stack import MLFLOW, stack_folder
from infra.stack.part import DIED, HEALTHY, NO_ANSWER, NOT_RUNNING, PartState
from infra.stack.prefect_settings import prefect_home

GONE = {"pid": os.getpid(), "start": "0"}  # a process that has ended: its id is another's now


def write_server(home, services):
    prefect_home(home).mkdir(parents=True)
    state = GONE | {"port": 9, "services": services, "versions": {}}
    (prefect_home(home) / "server.json").write_text(json.dumps(state))


def test_nothing_started_is_nothing_wrong(tagflow_at, tmp_path):
    done = tagflow_at(tmp_path)("status")
    assert (done.returncode, done.stdout.count(NOT_RUNNING)) == (0, 5)


def test_a_part_that_died_is_told_by_the_exit_code_too(tagflow_at, tmp_path):
    stack_folder(tmp_path).mkdir()
    record = GONE | {"title": "MLflow server", "address": "http://127.0.0.1:9", "told": []}
    (stack_folder(tmp_path) / f"{MLFLOW}.json").write_text(json.dumps(record))
    done = tagflow_at(tmp_path)("status", "--json")
    assert (done.returncode, json.loads(done.stdout)[MLFLOW]["health"]) == (1, DIED)


@pytest.mark.parametrize(("services", "code", "health"), [("full", 1, DIED), ("minimal", 0, NOT_RUNNING)])
def test_the_stacks_prefect_died_and_the_small_server_of_runs_only_ended(tagflow_at, tmp_path, services, code, health):
    write_server(tmp_path, services)
    done = tagflow_at(tmp_path)("status", "--json")
    assert (done.returncode, json.loads(done.stdout)["prefect"]["health"]) == (code, health)


def test_what_needs_repair():
    states = [PartState("a", "A", "", health) for health in (HEALTHY, NOT_RUNNING, DIED, NO_ANSWER)]
    assert [state.needs_repair for state in states] == [False, False, True, True]


@pytest.mark.parametrize("variable", [False, True])
def test_schedules_read_a_source_of_the_settings_by_its_whole_path(tmp_path, monkeypatch, variable):
    (tmp_path / "notes.jsonl").write_text("{}\n")
    (tmp_path / "tagflow.toml").write_text("" if variable else 'source = "notes.jsonl"\n')
    if variable:
        monkeypatch.setenv("TAGFLOW_SOURCE", "notes.jsonl")
    monkeypatch.delenv("TAGFLOW_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    sources = []
    monkeypatch.setattr(local_stack, "bring_up", lambda settings, say: sources.append(settings.source) or [])
    up(home=tmp_path / "home")
    assert sources == [str(tmp_path / "notes.jsonl")]
    (tmp_path / "notes.jsonl").unlink()
    up(home=tmp_path / "home")  # what died is started again while the data are away
    assert sources[1] == sources[0]
    with pytest.raises(ValueError, match=r"notes\.jsonl: no such file or folder"):
        up(data="notes.jsonl", home=tmp_path / "home")
