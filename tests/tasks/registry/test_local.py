"""The champion's folder, found without MLflow, in a process that has not imported it."""

import json
import subprocess
import sys

import mlflow

from tasks.registry.local import Champion, champions_here
from tests.workspaces import workspace_at


def test_champions_are_found_where_mlflow_put_them(tmp_path):
    workspace = workspace_at(tmp_path)
    with workspace.registry.open() as client:
        for name, versions in (("notes", 2), ("idle", 1)):
            client.create_registered_model(name)
            for number in range(1, versions + 1):
                stored = tmp_path / "a place" / f"{name}-{number}" / "artifacts" / "model-1"
                stored.mkdir(parents=True)
                (stored / "manifest.json").write_text("{}")
                client.create_model_version(name, stored.parents[1].as_uri())
        client.set_registered_model_alias("notes", "champion", "2")
        client.set_registered_model_alias("notes", "challenger", "1")
    database = workspace.settings.database
    expected = {"notes": Champion("2", tmp_path / "a place" / "notes-2" / "artifacts" / "model-1")}
    assert champions_here(database) == expected
    code = (
        "import json, sys; from pathlib import Path; from tasks.registry.local import champions_here\n"
        "found = champions_here(Path(sys.argv[1]))\n"
        "print(json.dumps([sorted(found), [m for m in ('mlflow', 'prefect') if m in sys.modules]]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(database)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [["notes"], []]

    (expected["notes"].folder / "manifest.json").unlink()
    assert champions_here(database) == {}  # MLflow shall say what is wrong


def test_what_is_no_registry_of_ours_holds_none(tmp_path):
    assert champions_here(tmp_path / "none.db") == {}
    (tmp_path / "text.db").write_text("no database at all, and longer than a head of one would be" * 9)
    assert champions_here(tmp_path / "text.db") == {}
    assert mlflow.__version__.startswith("3.")  # another form of its tables would be met by the test above
