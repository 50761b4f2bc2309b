"""Steps without a server: what decides a result is in its key, and no run spoils another's."""

import pytest

from tagcore.store.datasets import Dataset, write_dataset
from tasks import cache
from tasks.cache import PlannedResult, run_cached
from tasks.ingest import ingest
from tasks.recipe import DataSettings
from tests.workspaces import workspace_at


def read(home, source, **options):
    return ingest.fn(DataSettings(source=str(source), options=options), workspace_at(home)).result()


def test_reader_options_decide_what_is_read(tmp_path):
    source = tmp_path / "mixed"
    source.mkdir()
    (source / "a.jsonl").write_text('{"id": "a", "text": "x", "tags": ["t"]}\n')
    (source / "b.csv").write_text("id,text,tags,other\nb,y,t,u\nc,z,t,u\n")
    with pytest.raises(ValueError, match="several formats"):
        read(tmp_path / "home", source)
    found = [
        read(tmp_path / "home", source, **options)
        for options in ({"format": "jsonl"}, {"format": "csv"}, {"format": "csv", "tags": "other"})
    ]
    assert [Dataset.open(f, "corpus").counts["documents"] for f in found] == [1, 2, 2]
    assert [Dataset.open(f, "corpus").names("tags") for f in found] == [["t"], ["t"], ["u"]]
    assert read(tmp_path / "home", source, format="csv") == found[1]


def test_what_another_run_finishes_meanwhile_is_not_taken_for_damaged(tmp_path, monkeypatch):
    plan = PlannedResult(tmp_path, "corpus", {}, {})

    def make(folder, step):
        with write_dataset(folder, "corpus", **plan.manifest):
            pass

    def complete_too_late(*args):
        monkeypatch.undo()
        make(plan.folder, None)
        return False

    monkeypatch.setattr(cache, "is_complete", complete_too_late)
    run_cached(plan, "read", make)
    assert [p.name for p in tmp_path.iterdir()] == [plan.folder.name]
