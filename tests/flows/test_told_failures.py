"""Whoever shall hear of a night that failed hears of one that could not even begin."""

import json
import shlex
import sys

import pytest

from flows.nightly import nightly
from flows.recipes import load_recipe
from tasks.recipe import RecipeError
from tasks.registry.client import RegistryError

KEEP = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"


@pytest.fixture
def told(tmp_path, monkeypatch):
    """The file that gets what the night tells."""
    command = [sys.executable, "-c", KEEP, str(tmp_path / "told.json")]
    monkeypatch.setenv("TAGFLOW_NOTIFY_COMMAND", shlex.join(command))
    monkeypatch.setenv("TAGFLOW_HOME", str(tmp_path / "home"))
    return tmp_path / "told.json"


def test_a_registry_out_of_reach_is_told(told, monkeypatch):
    monkeypatch.setenv("TAGFLOW_MLFLOW", "http://127.0.0.1:9")
    with pytest.raises(RegistryError, match="cannot be reached"):
        nightly.fn(load_recipe("demo", {}))
    message = json.loads(told.read_text())
    assert (message["event"], message["name"]) == ("failed", "demo")
    assert message["error"].startswith("RegistryError: registry http://127.0.0.1:9: cannot be reached")


def test_data_that_is_gone_is_told(told, tmp_path, monkeypatch):
    monkeypatch.setattr("flows.nightly.require_reachable", lambda registry: None)
    with pytest.raises((ValueError, OSError)):
        nightly.fn(load_recipe("nightly", {"data.source": str(tmp_path / "gone.jsonl")}))
    assert "gone.jsonl" in json.loads(told.read_text())["error"]


def test_a_cluster_out_of_reach_is_told_before_data_are_read(told, monkeypatch):
    monkeypatch.setattr("flows.nightly.require_reachable", lambda registry: None)
    monkeypatch.setattr("flows.nightly.ingest", lambda *_: pytest.fail("data were read"))
    monkeypatch.setenv("TAGFLOW_CLUSTER", "tcp://127.0.0.1:9")
    with pytest.raises(ConnectionError):
        nightly.fn(load_recipe("demo", {}))
    assert "tcp://127.0.0.1:9: no scheduler answers there" in json.loads(told.read_text())["error"]


def test_a_grid_is_refused_and_told(told):
    with pytest.raises(RecipeError, match=r"\[grid\] varies features.stem; `tagflow experiment` takes grids"):
        nightly.fn(load_recipe("demo", {"grid": {"features.stem": ["english", "porter"]}}))
    assert "a night is of one data set, split and features" in json.loads(told.read_text())["error"]
