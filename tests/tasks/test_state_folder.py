"""The state folder by itself, against all settings."""

from pathlib import Path

import pytest

from tasks.settings import load_settings
from tasks.state_folder import database_in, embedded_state


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path):
    for name in ("TAGFLOW_HOME", "TAGFLOW_MLFLOW", "TAGFLOW_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("given", [{}, {"TAGFLOW_HOME": "elsewhere"}, {"tagflow_home": "~/here"}, {"TAGFLOW_HOME": ""}])
@pytest.mark.parametrize("home", [None, Path("here"), Path("~/there")])
def test_it_is_that_of_the_settings(given, home, monkeypatch):
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    settings = load_settings(home=home)
    assert embedded_state(home) == settings.state
    assert database_in(settings.state) == settings.database


@pytest.mark.parametrize("variable", ["TAGFLOW_MLFLOW", "Tagflow_Mlflow", "TAGFLOW_CONFIG"])
def test_it_is_unknown_where_another_registry_may_be_set(variable, monkeypatch):
    monkeypatch.setenv(variable, "http://127.0.0.1:5000")
    assert embedded_state(Path("here")) is None


def test_it_is_unknown_where_there_is_a_file_of_settings(tmp_path):
    (tmp_path / "tagflow.toml").write_text('home = "elsewhere"')
    assert embedded_state(None) is None
    assert load_settings().state == tmp_path / "elsewhere"
