"""`tagflow models`: one version is one version."""

from types import SimpleNamespace

import pytest

from infra.cli import models


@pytest.mark.parametrize(("versions", "told"), [(1, "1 version"), (2, "2 versions")])
def test_versions_are_counted_as_people_do(monkeypatch, capsys, versions, told):
    found = [SimpleNamespace(name="nightly-notes", version=None, versions=versions)]
    monkeypatch.setattr(models, "_registry", lambda home: None)
    monkeypatch.setattr("tasks.registry.in_service.models_in_service", lambda registry: found)
    models.models()
    assert capsys.readouterr().out == f"nightly-notes: nothing in service, {told}\n"
