"""The file that --into names is looked for before any work."""

import pytest
from typer.testing import CliRunner

from infra.cli.main import app


@pytest.mark.parametrize("command", ["experiment", "tune"])
@pytest.mark.parametrize(
    ("place", "complaint"), [("none/x.md", "there is no folder"), (".", "a folder, expected the name of a file")]
)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(monkeypatch, tmp_path, command, place, complaint):
    for module in ("experiment", "tune"):
        monkeypatch.setattr(f"infra.cli.{module}.recipe_from_options", lambda *_, **__: pytest.fail("work was begun"))
    done = CliRunner().invoke(app, [command, "nightly", "--into", str(tmp_path / place)])
    assert complaint in str(done.exception)
