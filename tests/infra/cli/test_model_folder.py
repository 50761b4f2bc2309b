"""Which model a command asks where none is named: the one in service of its kind, or clear words if there is none."""

import json
from pathlib import Path

import pytest

from infra.cli.model_folder import served_folder
from tasks.registry import client, local

ASKED = {"tagger": "model", "recommender": "recommender"}


@pytest.fixture(params=["read from its tables", "asked"])
def serve(request, tmp_path, monkeypatch):
    """Puts models of these kinds into service, by name, in a registry of this machine or in one that is asked."""

    def in_service(**kinds):
        folders = {name: tmp_path / name for name in kinds}
        for name, folder in folders.items():
            folder.mkdir()
            (folder / "manifest.json").write_text(json.dumps({"kind": kinds[name]}))
        if request.param == "asked":
            monkeypatch.setenv("TAGFLOW_MLFLOW", "http://127.0.0.1:9")
            monkeypatch.setattr(client, "require_reachable", lambda registry: None)
            monkeypatch.setattr(client, "champions", lambda registry: sorted(folders))
            monkeypatch.setattr(client.Registry, "fetch", lambda self, address: folders[address[8:].split("@")[0]])
        else:
            monkeypatch.delenv("TAGFLOW_MLFLOW", raising=False)
            champions = {name: local.Champion("1", folder) for name, folder in folders.items()}
            monkeypatch.setattr(local, "champions_here", lambda database: champions)

    return in_service


def asked(home: Path, role: str) -> Path:
    return served_folder(None, home, ASKED[role])


@pytest.mark.parametrize(
    ("role", "there", "command"), [("tagger", "recommender", "recommend"), ("recommender", "tagger", "tag")]
)
def test_only_a_model_of_the_other_kind_is_in_service(serve, tmp_path, role, there, command):
    serve(mine=ASKED[there])
    expected = f"^no {role} is in service; there is the {there} mine: `tagflow {command}`$"
    with pytest.raises(ValueError, match=expected):
        asked(tmp_path, role)
    assert asked(tmp_path, there) == tmp_path / "mine"


def test_several_in_service(serve, tmp_path):
    serve(films="recommender", books="recommender", notes="model")
    assert asked(tmp_path, "tagger") == tmp_path / "notes"
    with pytest.raises(
        ValueError, match="say which model with --model: models:/books@champion, models:/films@champion"
    ):
        asked(tmp_path, "recommender")


def test_several_of_the_other_kind(serve, tmp_path):
    serve(films="recommender", books="recommender")
    with pytest.raises(ValueError, match="no tagger is in service; there are the recommenders books, films: `tagflow "):
        asked(tmp_path, "tagger")


def test_a_damaged_model_is_told_by_those_who_load_it(serve, tmp_path):
    serve(mine="model")
    (tmp_path / "mine" / "manifest.json").write_text("{")
    assert asked(tmp_path, "tagger") == tmp_path / "mine"


def test_nothing_in_service(serve, tmp_path):
    serve()
    with pytest.raises(ValueError, match="no model is in service yet: `tagflow run`"):
        asked(tmp_path, "tagger")
