"""Where a run works, read from the settings once; secrets of addresses are not shown."""

import json

from fastapi.encoders import jsonable_encoder

from tasks.workspace import open_workspace


def test_an_embedded_workspace_is_all_in_the_state_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TAGFLOW_HOME", str(tmp_path))
    workspace = open_workspace(threads=3)
    assert workspace.store == tmp_path / "data"
    assert workspace.registry.uri == f"sqlite:///{tmp_path}/mlflow.db"
    assert workspace.registry.artifacts == tmp_path / "mlartifacts"
    assert workspace.threads == 3
    assert workspace.report_folder("demo") == tmp_path / "reports" / "demo"


def test_a_password_in_an_address_reaches_neither_prefect_nor_a_message(tmp_path):
    workspace = open_workspace(home=tmp_path, mlflow="postgresql://me:secret@127.0.0.1/mlflow")
    assert workspace.registry.uri == "postgresql://me:secret@127.0.0.1/mlflow"
    assert workspace.registry.artifacts is None
    assert "secret" not in json.dumps(jsonable_encoder(workspace))  # what Prefect records of a flow's parameters
    assert "secret" not in f"{workspace} {workspace.registry!r}"
    assert str(workspace.registry) == "postgresql://me:***@127.0.0.1/mlflow"
