"""Runs and versions: one of each for one evaluation, however many runs are at work and whichever were killed."""

import json
import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path

import mlflow
import pytest

from flows.recipes import load_recipe
from tagcore.metrics.evaluation import Evaluation
from tasks.evaluate import EvaluatedModel, evaluate
from tasks.recipe_settings import MeasureSettings, ModelSettings
from tasks.registry.client import EVALUATION_KEY, RegistryError
from tasks.registry.mlflow_pyfunc import ServedForm
from tasks.registry.tracking import comparison_run, register, track
from tasks.registry.writer import only_writer
from tasks.reporting import plots
from tasks.train import train
from tests.demo import demo_features
from tests.workspaces import registry_at, workspace_at

FORK = multiprocessing.get_context("fork")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(corpus, two evaluated models) of the demo."""
    workspace = workspace_at(tmp_path_factory.mktemp("home"))
    rows = demo_features(workspace, documents=300)
    (corpus,) = workspace.store.glob("corpus-*")

    def measured(seed):
        model = train.fn(rows, ModelSettings(model="Popular"), seed, workspace).result()
        evaluation = evaluate.fn(model, rows, MeasureSettings(), "Popular", workspace).result()
        return EvaluatedModel("Popular", model, evaluation, rows, seed)

    return corpus, [measured(seed) for seed in (0, 1)]


@pytest.fixture
def registry(tmp_path):
    return registry_at(tmp_path)


def track_and_register(registry, made):
    corpus, (model, _) = made
    parent = comparison_run.fn("demo", [model], registry)
    return register.fn(model, track.fn(model, "demo", parent, registry), corpus, load_recipe("demo"), "demo", registry)


def runs_of(registry, where=""):
    with registry.open() as client:
        return client.search_runs([registry.experiment(client, "demo")], where)


def tracked_runs(registry):
    return runs_of(registry, f"tags.`{EVALUATION_KEY}` != ''")


def versions_of(registry):
    with registry.open() as client:
        return [version.version for version in client.search_model_versions("name = 'demo'")]


def in_processes(*targets):
    """Runs each in a process of its own, all at once; gives their exit codes."""
    processes = [FORK.Process(target=target) for target in targets]
    for process in processes:
        process.start()
    for process in processes:
        process.join(240)
    return [process.exitcode for process in processes]


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_two_runs_at_once_track_and_register_once(registry, made):
    barrier = FORK.Barrier(2)

    def run():
        barrier.wait()
        track_and_register(registry, made)

    assert in_processes(run, run) == [0, 0]
    assert [run.info.status for run in runs_of(registry)] == ["FINISHED"] * 2  # the comparison and its one model
    assert versions_of(registry) == [1]
    assert [place.name for place in (registry.writers / "demo").iterdir()] == ["lock"]


def test_what_a_run_left_that_was_killed_while_it_tracked_is_ended(registry, made):
    def killed():
        plots.draw_all = die  # its temporary folder stands by then
        track_and_register(registry, made)

    assert in_processes(killed) == [-signal.SIGKILL]
    assert [run.info.status for run in tracked_runs(registry)] == ["RUNNING"]
    assert any((registry.writers / "demo" / "scratch").iterdir())
    assert track_and_register(registry, made) == "1"
    assert sorted(run.info.status for run in tracked_runs(registry)) == ["FINISHED", "KILLED"]
    assert not (registry.writers / "demo" / "scratch").exists()


def test_what_a_run_left_that_was_killed_while_it_registered_is_no_second_run(registry, made):
    def killed():
        mlflow.MlflowClient.finalize_logged_model = die  # when the model's files are all there
        track_and_register(registry, made)

    assert in_processes(killed) == [-signal.SIGKILL]
    (left,) = tracked_runs(registry)
    assert left.info.status == "RUNNING"
    assert track_and_register(registry, made) == "1"
    (run,) = tracked_runs(registry)
    assert (run.info.run_id, run.info.status) == (left.info.run_id, "FINISHED")
    with registry.open() as client:
        models = client.search_logged_models([registry.experiment(client, "demo")])
    assert sorted(model.status for model in models) == ["FAILED", "READY"]


def test_runs_of_other_writers_are_not_ended(registry, tmp_path):
    with only_writer(registry, "demo") as writer:
        run = writer.client.create_run(writer.experiment, tags=writer.tags).info.run_id
        with only_writer(replace(registry, writers=tmp_path / "elsewhere"), "demo") as other:
            assert other.client.get_run(run).info.status == "RUNNING"
    with only_writer(registry, "demo") as writer:
        assert writer.client.get_run(run).info.status == "KILLED"


def test_without_a_folder_for_locks_nothing_is_written(registry):
    with pytest.raises(RegistryError, match="to read from"), only_writer(replace(registry, writers=None), "demo"):
        pass


def test_a_half_made_run_is_not_taken_for_tracked(registry, made, monkeypatch):
    _, (model, _) = made

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(plots, "draw_all", fail)
        with pytest.raises(OSError, match="No space left"):
            track.fn(model, "demo", "none", registry)
    (failed,) = tracked_runs(registry)
    assert failed.info.status == "FAILED"
    again = track.fn(model, "demo", "none", registry)
    assert again != failed.info.run_id
    assert track.fn(model, "demo", "none", registry) == again


def test_a_run_whose_registration_failed_stays_tracked(registry, made, monkeypatch):
    corpus, (model, _) = made

    def fail(*_):
        raise OSError(28, "No space left on device")

    run = track.fn(model, "demo", "none", registry)
    with monkeypatch.context() as patch:
        patch.setattr(ServedForm, "log", fail)
        with pytest.raises(OSError, match="No space left"):
            register.fn(model, run, corpus, load_recipe("demo"), "demo", registry)
    assert track.fn(model, "demo", "none", registry) == run
    assert versions_of(registry) == []


def test_the_run_of_a_version_tells_its_data(registry, made):
    track_and_register(registry, made)
    (run,) = runs_of(registry, "attributes.run_name = 'Popular'")
    (told,) = run.inputs.dataset_inputs
    manifest = json.loads((made[0] / "manifest.json").read_text())
    assert (told.dataset.name, told.dataset.digest) == ("demo", manifest["key"][:16])
    assert json.loads(told.dataset.profile) == manifest["counts"]
    assert json.loads(told.dataset.source) == {"uri": load_recipe("demo").data.shown}


def test_the_same_models_in_any_order_are_one_comparison(registry, made):
    _, (one, two) = made
    run = comparison_run.fn("demo", [one, two], registry)
    assert comparison_run.fn("demo", [two, one], registry) == run
    assert comparison_run.fn("demo", [one], registry) != run


def test_intervals_are_a_table_and_no_tags(registry, made, tmp_path):
    _, (model, _) = made
    run = track.fn(model, "demo", "none", registry)
    with registry.open() as client:
        tags = client.get_run(run).data.tags
        table = json.loads(Path(client.download_artifacts(run, "measures.json", str(tmp_path))).read_text())
    assert [name for name in tags if name.startswith("interval")] == []
    summary = Evaluation.load(model.evaluation).summary
    assert table["columns"] == ["measure", "value", "low", "high"]
    rows = {row[0]: row[1:] for row in table["data"]}
    assert list(rows) == list(summary)
    assert rows["P@1"] == pytest.approx([summary["P@1"].value, summary["P@1"].low, summary["P@1"].high])
