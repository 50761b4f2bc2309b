"""`tagflow run`: whoever shall hear of a night that failed hears of one that did not begin, once."""

import json
import logging
import shlex
import sys
from contextlib import nullcontext

import pytest
from typer.testing import CliRunner

from infra.cli.console import Console
from infra.cli.main import app

KEEP = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command; gives its error and what was told."""
    told = tmp_path / "told.jsonl"
    monkeypatch.setenv("TAGFLOW_NOTIFY_COMMAND", shlex.join([sys.executable, "-c", KEEP, str(told)]))
    monkeypatch.setenv("TAGFLOW_HOME", str(tmp_path / "home"))  # with the next two: what the command changes is undone
    monkeypatch.setenv("TAGFLOW_CLUSTER", "none")
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)

    def invoke(*options):
        done = CliRunner().invoke(app, ["run", "--home", str(tmp_path / "home"), *options])
        messages = told.read_text().splitlines() if told.exists() else []
        return str(done.exception), [json.loads(message) for message in messages]

    return invoke


def test_a_cluster_out_of_reach_is_told(run, monkeypatch):
    monkeypatch.setattr("infra.stack.prefect.ensure_server", lambda *_, **__: pytest.fail("a server was started"))
    error, (message,) = run("--cluster", "tcp://127.0.0.1:9")
    assert error.startswith("tcp://127.0.0.1:9: no scheduler answers there")
    assert message == {"event": "failed", "name": "demo", "error": f"ConnectionError: {error}"}


def test_a_prefect_out_of_reach_is_told(run, monkeypatch):
    monkeypatch.setenv("TAGFLOW_PREFECT", "http://127.0.0.1:9/api")
    error, (message,) = run("--full")
    assert error.startswith("Prefect's API at http://127.0.0.1:9/api: cannot be reached")
    assert message["error"] == f"PrefectServerError: {error}"


def test_data_that_is_gone_is_told(run, tmp_path):
    error, (message,) = run("--data", str(tmp_path / "gone.jsonl"))
    assert "gone.jsonl: there is no such file" in error
    assert (message["event"], message["name"]) == ("failed", "nightly-gone")


def test_what_ends_the_night_itself_is_left_to_it(run, monkeypatch):
    def nightly(recipe, full):
        raise ValueError("in the night")

    monkeypatch.setattr("flows.nightly.nightly", nightly)
    monkeypatch.setattr(Console, "session", lambda *_: nullcontext())
    assert run("--full") == ("in the night", [])
