"""Measuring on a real Dask cluster: the same evaluation, byte by byte, wherever rows are scored."""

import shutil

import numpy as np
import pytest

from tagcore import load_model
from tagcore.baselines import KNN
from tagcore.features.rows import InMemory, StoredRows
from tagcore.labelling.rules import rule_names
from tagcore.metrics.evaluate_model import evaluate as measure
from tagcore.scoring.sharded import ShardedScores
from tagcore.shards import InProcess
from tasks.cache import RECORD
from tasks.cluster.backends import Cluster, LocalWorkers, Scheduler
from tasks.cluster.open_clusters import open_clusters
from tasks.evaluate import evaluate
from tasks.recipe_settings import MeasureSettings, ModelSettings
from tasks.thresholds import thresholds
from tasks.train import train
from tests.demo import demo_features
from tests.problems import noisy
from tests.tasks.cluster.processes import DaskProcesses
from tests.workspaces import workspace_at

MODELS = {
    "KNN": ModelSettings(model="KNN", params={"n_neighbors": 7}),
    "BOMC": ModelSettings(model="BOMC", params={"threshold_grid": "quantile"}),
    "OneVsRestLinear": ModelSettings(model="OneVsRestLinear", calibrate="isotonic"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(workspace, features) of the demo."""
    workspace = workspace_at(tmp_path_factory.mktemp("home"))
    return workspace, demo_features(workspace, documents=900)


def trained(made, name):
    workspace, rows = made
    limits = thresholds.fn(rows, MODELS[name], 0, workspace).result() if name == "BOMC" else None
    return train.fn(rows, MODELS[name], 0, workspace, limits).result()


def files_of(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != RECORD}


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """Two workers of this machine, for all steps inside."""
    root = tmp_path_factory.mktemp("local")
    with open_clusters(root / "report.html"):
        yield Cluster(LocalWorkers(2), root)
    assert not list((root / "runs").glob("*"))


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "KNN")) for name in MODELS])
def test_the_same_files_in_process_and_on_local_workers(name, made, local):
    workspace, rows = made
    model, home = trained(made, name), workspace.settings.home
    measures = MeasureSettings(ks=[1, 5], primary="P@5", labelling=list(rule_names()))
    found = []
    for where in (workspace, workspace_at(home, threads=3), workspace_at(home, local)):
        folder = evaluate.fn(model, rows, measures, name, where).result()
        found.append((folder, files_of(folder)))
        shutil.rmtree(folder)  # its key says nothing of where it was made: it would stand already
    assert found[0] == found[1] == found[2]


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    made = DaskProcesses(tmp_path_factory.mktemp("dask"))
    yield made
    made.close()


@pytest.mark.parametrize("name", MODELS)
def test_a_worker_killed_between_passes_changes_nothing(name, made, processes, tmp_path):
    """the scores that it held are asked again."""
    tagger, rows = load_model(trained(made, name)), StoredRows.open(made[1], "test")
    asked = {"labelling": rule_names(), "train_counts": np.ones(rows.n_labels), "train_documents": 5}
    lost = []

    def kill(done, total, known):
        if done == 1:
            lost.append(processes.kill_worker())

    processes.grow(2)
    with Cluster(Scheduler(processes.address), tmp_path / "root").open() as executor:
        found = measure(tagger, rows, **asked, executor=executor, progress=kill)
    assert lost[0] > 0
    for evaluation, folder in ((found, "there"), (measure(tagger, rows, **asked), "here")):
        evaluation.save(tmp_path / folder)
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")


def test_the_model_goes_to_workers_once(processes, tmp_path):
    """by file; what comes back is the best tags."""
    X, Y = noisy(n=3000, words=400, tags=50)
    model = KNN().fit(X, Y)
    processes.grow(2)
    with Cluster(Scheduler(processes.address), tmp_path / "root").open() as executor:
        scores = ShardedScores(model, InMemory(X, Y), executor)
        of_model = sum(array.nbytes for array in model.parts()["arrays"].values())
        of_rows = sum(part.nbytes for M in (X, Y) for part in (M.data, M.indices, M.indptr))
        assert of_model <= executor.traffic.sent <= of_model + 1.1 * of_rows
        before = executor.traffic.sent
        for k in (3, 5):
            found, expected = scores.top_k(k), ShardedScores(model, InMemory(X, Y), InProcess()).top_k(k)
            assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]
        assert executor.traffic.sent == before
        assert executor.traffic.received == 3000 * (3 + 5) * 16
