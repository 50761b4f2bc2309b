"""The registry under trouble: made once and whole, and its failures are never taken for an empty registry."""

import multiprocessing
import re
import threading
import traceback
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import mlflow
import numpy as np
import pytest
from mlflow.exceptions import MlflowException
from pydantic import SecretStr

from tasks.evaluate import EvaluatedModel
from tasks.promotion import promote as promotion
from tasks.promotion.contest import Contest
from tasks.promotion.decision_record import Candidate
from tasks.recipe_settings import PromotionSettings
from tasks.registry.client import (
    CHAMPION,
    Registry,
    RegistryBusy,
    RegistryError,
    champions,
    create_database,
    require_reachable,
    stored_folder,
    version_by_alias,
)
from tests.workspaces import new_registry_at, registry_at


def first_use(folder, barrier):
    barrier.wait()
    require_reachable(new_registry_at(folder))


def test_several_first_runs_make_one_database(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(3)
    processes = [context.Process(target=first_use, args=(tmp_path, barrier)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert champions(new_registry_at(tmp_path)) == []


def test_a_run_killed_while_it_makes_the_database_leaves_none(tmp_path, monkeypatch):
    class Killed:
        def __init__(self, uri):
            Path(uri.removeprefix("sqlite:///")).write_text("half of the tables")

        def search_experiments(self, max_results):
            raise KeyboardInterrupt

    monkeypatch.setattr(mlflow, "MlflowClient", Killed)
    path = tmp_path / "mlflow.db"
    with pytest.raises(KeyboardInterrupt):
        create_database(f"sqlite:///{path}")
    assert not path.exists()
    monkeypatch.undo()
    create_database(f"sqlite:///{path}")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".mlflow.db.lock", "mlflow.db"]


def test_a_database_that_is_none_is_one_clear_error(tmp_path):
    (tmp_path / "mlflow.db").write_text("this is not a database, whatever its name says")
    with pytest.raises(RegistryError, match=r"file is not a database$"):
        require_reachable(new_registry_at(tmp_path))
    assert (tmp_path / "mlflow.db").read_text().startswith("this is")


def test_a_password_of_the_registry_is_told_to_nobody():
    registry = Registry(SecretStr("postgresql://tagger:geheim@there/mlflow"))
    assert "geheim" not in f"{registry} {registry!r}"
    assert "tagger" in str(registry)
    assert "geheim" in registry.uri


@pytest.fixture
def refusing():
    """The host and port of a server that lets nobody in."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(401)

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def whole_text(error):
    return "".join(traceback.format_exception(error))


def test_a_server_that_refuses_is_told_by_its_status_without_the_login(refusing):
    registry = Registry(SecretStr(f"http://tagger:geheim@{refusing}"))
    with pytest.raises(RegistryError, match=f"^registry http://{refusing}: .* [(]status 401[)]$") as raised:
        require_reachable(registry)
    assert not re.search("tagger|geheim", whole_text(raised.value))


def test_neither_a_server_out_of_reach_nor_mlflow_tells_the_login():
    registry = Registry(SecretStr("http://tagger:geheim@127.0.0.1:9/"))
    with pytest.raises(RegistryError, match=r"^registry http://127\.0\.0\.1:9/: cannot be reached [(].+[)]$") as raised:
        require_reachable(registry)
    assert "geheim" not in whole_text(raised.value)
    with (
        pytest.raises(RegistryError, match=r"request to http://127\.0\.0\.1:9/api failed$") as raised,
        registry.open(),
    ):
        raise MlflowException("API request to http://tagger:geheim@127.0.0.1:9/api failed")
    assert "geheim" not in str(raised.value)
    assert raised.value.__suppress_context__  # a log shows no cause


def mlflow_model(folder, path):
    """A stored MLflow model that says its tagger is at this path."""
    model = mlflow.models.Model(flavors={"python_function": {"artifacts": {"tagger": {"path": path}}}})
    folder.mkdir()
    model.save(str(folder / "MLmodel"))
    return folder


@pytest.mark.parametrize("path", ["../tagger", "/tagger", "."])
def test_a_registered_model_does_not_lead_out_of_its_folder(tmp_path, path):
    with pytest.raises(RegistryError, match="its tagger lies outside of it"):
        stored_folder(mlflow_model(tmp_path / "model", path))


def test_a_registered_model_s_folder_lies_inside(tmp_path):
    model = mlflow_model(tmp_path / "model", "artifacts/tagger")
    assert stored_folder(model) == (model / "artifacts" / "tagger").resolve()


def test_no_champion_and_a_registry_that_fails_are_told_apart(tmp_path):
    with registry_at(tmp_path).open() as client:
        client.create_registered_model("m")
        client.create_model_version("m", str(tmp_path))
        assert version_by_alias(client, "m", CHAMPION) is None
        client.set_registered_model_alias("m", CHAMPION, "1")
        assert version_by_alias(client, "m", CHAMPION).version == 1

    class Failing:
        def __getattr__(self, name):
            raise MlflowException("database is locked", error_code=10)

    with pytest.raises(MlflowException):
        version_by_alias(Failing(), "m", CHAMPION)


def test_a_registry_that_is_busy_is_tried_again(tmp_path):
    from mlflow.protos.databricks_pb2 import TEMPORARILY_UNAVAILABLE

    with pytest.raises(RegistryBusy) as raised, registry_at(tmp_path).open():
        raise MlflowException("database is locked\n[SQL: SELECT 1]", error_code=TEMPORARILY_UNAVAILABLE)
    assert str(raised.value).endswith("database is locked")
    assert isinstance(raised.value, OSError)  # what tasks.cache.transient retries
    with pytest.raises(RegistryError) as raised, registry_at(tmp_path).open():
        raise MlflowException("no such model")
    assert not isinstance(raised.value, OSError)


def test_a_champion_that_another_run_moved_meanwhile_stays(tmp_path, monkeypatch):
    registry = registry_at(tmp_path)
    with registry.open() as client:
        client.create_registered_model("m")
        for _ in range(2):
            client.create_model_version("m", str(tmp_path))
        client.set_registered_model_alias("m", CHAMPION, "1")
    held = Contest(np.ones(9), None, np.zeros(9), "Popular")
    monkeypatch.setattr(promotion, "hold_contest", lambda *_: held)
    candidate = Candidate(EvaluatedModel("KNN", tmp_path, tmp_path, tmp_path), "2")
    answers = iter([lambda *args: None])  # the first look is from before the other run
    monkeypatch.setattr(promotion, "version_by_alias", lambda *args: next(answers, version_by_alias)(*args))
    with pytest.raises(RegistryBusy, match="another run has moved champion"):
        promotion.promote.fn("m", candidate, tmp_path, "P@1", PromotionSettings(), registry)
    with registry.open() as client:
        assert version_by_alias(client, "m", CHAMPION).version == 1
