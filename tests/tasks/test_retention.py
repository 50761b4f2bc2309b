"""What expires and what never does: old things go, a champion and all that it was made from stay."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.nights.record import NIGHTS, NightRecord, note_night
from tasks.registry.client import CHAMPION, DATA_KEY, EVALUATION_KEY, MODEL_KEY
from tasks.registry.in_service import put_into_service, roll_back
from tasks.retention import _Kept, _needed_folders, clean, seconds_of
from tests.workspaces import registry_at, workspace_at

DAY = 86400.0


def key_of(name: str) -> str:
    return name.encode().hex().ljust(64, "0")


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "home").mkdir()
    registry_at(tmp_path / "home")
    return workspace_at(tmp_path / "home")


def store(workspace, kind: str, name: str, days: float, **inputs: str) -> Path:
    """A stored result of that age, made from results of these names."""
    folder = workspace.store / f"{kind}-{key_of(name)[:16]}"
    folder.mkdir(parents=True)
    made_from = {kind: key_of(other) for kind, other in inputs.items()}
    manifest = {"kind": kind, "key": key_of(name), "inputs": made_from}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    then = time.time() - days * DAY
    os.utime(folder / "manifest.json", (then, then))
    return folder


def test_old_results_go_and_what_a_champion_was_made_from_stays(workspace):
    corpus = store(workspace, "corpus", "oldc", 90)
    features = store(workspace, "features", "oldf", 90, corpus="oldc")
    model = store(workspace, "model", "oldm", 90, features="oldf")
    evaluation = store(workspace, "evaluation", "olde", 90, model="oldm", features="oldf")
    loser = store(workspace, "model", "lost", 90, features="oldf")
    young = store(workspace, "model", "new", 3, features="oldf")
    damaged = store(workspace, "damaged-model", "bad", 40)
    report = workspace.report_folder("old")
    report.mkdir(parents=True)
    os.utime(report, (time.time() - 90 * DAY,) * 2)
    with workspace.registry.open() as client:
        client.create_registered_model("notes")
        tags = {MODEL_KEY: key_of("oldm"), EVALUATION_KEY: key_of("olde"), DATA_KEY: corpus.name}
        client.create_model_version("notes", str(model), tags=tags)
        client.create_model_version("notes", str(loser), tags={MODEL_KEY: key_of("lost")})
        client.set_registered_model_alias("notes", CHAMPION, "1")

    told = clean(workspace, 30 * DAY, dry_run=True)
    assert {one.name for one in told} == {loser.name, damaged.name, "old"}
    assert all(folder.exists() for folder in (loser, damaged, report))

    assert [one.name for one in clean(workspace, 30 * DAY, dry_run=False)] == [one.name for one in told]
    assert not any(folder.exists() for folder in (loser, damaged, report))
    assert all(folder.exists() for folder in (corpus, features, model, evaluation, young))

    gone = {one.name for one in clean(workspace, 0, dry_run=False)}  # whatever its age
    assert gone == {young.name, "notes 2"}
    assert all(folder.exists() for folder in (corpus, features, model, evaluation))
    with workspace.registry.open() as client:
        assert [v.version for v in client.search_model_versions("name = 'notes'")] == [1]


def test_the_version_that_a_rollback_leads_to_stays(workspace):
    with workspace.registry.open() as client:
        client.create_registered_model("notes")
        for _ in range(3):
            client.create_model_version("notes", "somewhere")
        for version in ("1", "2", "3"):
            put_into_service(client, "notes", version, "better")
    assert [one.name for one in clean(workspace, 0, dry_run=False)] == ["notes 1"]
    assert roll_back(workspace.registry, "notes") == ("3", "2")


def test_what_the_next_night_goes_on_from_stays(workspace):
    ledgers = [store(workspace, "ledger", f"l{n}", 90 - n) for n in range(3)]
    features, model = store(workspace, "features", "f2", 88), store(workspace, "model", "m2", 88, features="f2")
    night = NightRecord(2, "2026-11-18T02:00:00+00:00", "c2", ledgers[2].name, {}, {}, False, {}, {"KNN": model.name})
    nights = [replace(night, number=n, corpus=f"c{n}", ledger=ledgers[n].name, models={}) for n in range(2)]
    for name in ("notes", "forgotten"):
        note_night(workspace.settings.state / NIGHTS / f"{name}.json", nights, night)
    with workspace.registry.open() as client:
        client.create_registered_model("notes")
        client.create_model_version("notes", "somewhere")
        client.set_registered_model_alias("notes", CHAMPION, "1")
    assert [one.name for one in clean(workspace, 30 * DAY, dry_run=False)] == [ledgers[0].name]
    assert all(folder.exists() for folder in (*ledgers[1:], features, model))


def test_old_pages_of_crawls_go_and_the_crawl_of_a_champion_stays(workspace):
    with workspace.registry.open() as client:
        client.create_registered_model("nightly-site")
        client.create_model_version("nightly-site", "somewhere")
        put_into_service(client, "nightly-site", "1", "first")
    for name in ("site", "idle"):
        for file, days in (("collection.db", 40), ("night-1.warc.gz", 90), ("night-2.warc.gz", 40)):
            path = workspace.settings.state / "crawls" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("pages")
            os.utime(path, (time.time() - days * DAY,) * 2)
    gone = {(one.kind, one.name, one.bytes) for one in clean(workspace, 60 * DAY, dry_run=False)}
    assert gone == {("pages", "site night-1.warc.gz", 5), ("pages", "idle night-1.warc.gz", 5)}
    gone = {(one.kind, one.name) for one in clean(workspace, 30 * DAY, dry_run=False)}
    assert gone == {("pages", "site night-2.warc.gz"), ("crawl", "idle")}
    assert [path.name for path in (workspace.settings.state / "crawls").rglob("*")] == ["site", "collection.db"]


def test_a_champion_does_not_keep_all_nights_before_it(workspace):
    """it holds what they left: their corpora would never expire."""
    before = [
        store(workspace, "corpus", "c0", 90),
        store(workspace, "features", "f0", 90, corpus="c0"),
        store(workspace, "ledger", "l0", 90, corpus="c0"),
        store(workspace, "ledger", "l1", 90, corpus="c1", ledger="l0"),
        store(workspace, "model", "m0", 90, features="f0"),
    ]
    tonight = [
        store(workspace, "corpus", "c1", 90),
        store(workspace, "growth", "g1", 90, features="f0", ledger="l1", corpus="c1"),
        store(workspace, "features", "f1", 90, corpus="c1", growth="g1"),
        store(workspace, "model", "m1", 90, features="f1", parent="m0"),
    ]
    needed = _needed_folders(workspace.store, _Kept(set(), set(), {key_of("m1")}, set()))
    assert needed == {folder.name for folder in tonight}
    assert not needed & {folder.name for folder in before}


def test_runs_expire_with_their_artifacts_unless_a_champion_came_from_them(workspace):
    with workspace.registry.open() as client:
        experiment = workspace.registry.experiment(client, "notes")
        runs = [client.create_run(experiment, start_time=1000).info for _ in range(3)]
        for run in runs:
            client.log_text(run.run_id, "a table", "report.md")
            client.set_terminated(run.run_id)
        client.set_tag(runs[0].run_id, "mlflow.parentRunId", runs[1].run_id)
        client.create_registered_model("notes")
        client.create_model_version("notes", "somewhere", run_id=runs[0].run_id)
        client.set_registered_model_alias("notes", CHAMPION, "1")
    (gone,) = clean(workspace, 30 * DAY, dry_run=False)
    assert (gone.kind, gone.bytes) == ("run", len("a table"))
    with workspace.registry.open() as client:
        left = {run.info.run_id for run in client.search_runs([experiment])}
    assert left == {runs[0].run_id, runs[1].run_id}
    assert len(list(workspace.settings.artifacts.rglob("report.md"))) == 2


@pytest.mark.parametrize(("text", "days"), [("30d", 30), ("12h", 0.5), ("2w", 14), ("0d", 0), ("1.5d", 1.5)])
def test_durations(text, days):
    assert seconds_of(text) == days * DAY


@pytest.mark.parametrize("text", ["", "30", "d", "-3d", "3 d", "1e9d", "٣d"])
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="expected a time such as 30d"):
        seconds_of(text)
