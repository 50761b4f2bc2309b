"""An experiment on a cluster: models and seeds side by side, the same results as one after the other; it can be
stopped, and goes on when started again."""

import hashlib
import os
import shutil
import signal
import subprocess
import time

import mlflow
import pytest

MODELS = '[{model="BMLPL",params={max_iter=5}},{model="KNN"},{model="OneVsRestLinear",thresholds="cross-validated"}]'
EXPERIMENT = ("experiment", "bomc", "--set", "data.documents=600", "--set", "seeds=[0,1]", "--set", f"models={MODELS}")

pytestmark = pytest.mark.slow


def results(home):
    """By key, the content of every trained model and evaluation."""
    files = [*home.glob("data/model-*/model/state.safetensors"), *home.glob("data/evaluation-*/per_document.parquet")]
    return {file.relative_to(home): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_side_by_side_is_one_after_the_other(tagflow_at, tmp_path):
    tagflow = tagflow_at(tmp_path / "home")
    tagflow.json(*EXPERIMENT)
    alone = results(tagflow.home)
    assert len(alone) == 12  # three models, two seeds, each trained and measured
    for made in [*tagflow.home.glob("data/model-*"), *tagflow.home.glob("data/evaluation-*")]:
        shutil.rmtree(made)
    done = tagflow(*EXPERIMENT, "--cluster", "local:2")
    assert done.returncode == 0, done.stderr
    assert "dashboard at http://127.0.0.1:" in done.stderr
    assert results(tagflow.home) == alone
    client = mlflow.MlflowClient(f"sqlite:///{tagflow.home / 'mlflow.db'}")
    (experiment,) = [e.experiment_id for e in client.search_experiments() if e.name == "bomc-demo"]
    runs = client.search_runs([experiment])
    (parent,) = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    assert parent.data.tags["dask.dashboard"].startswith("http://127.0.0.1:")
    assert len([r for r in runs if r.data.tags.get("mlflow.parentRunId") == parent.info.run_id]) == 6


def test_it_stops_at_once_when_interrupted_and_goes_on_from_there(tagflow_at, tmp_path):
    tagflow = tagflow_at(tmp_path / "home")
    endless = 'models=[{model="KNN"},{model="BMLPL",params={max_iter=100000,tol=0.0}}]'
    command = tagflow.command(*EXPERIMENT[:-1], endless, "--cluster", "local:2")
    process = subprocess.Popen(
        command, env=tagflow.environment(), stderr=subprocess.PIPE, text=True, preexec_fn=_interruptible
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "✓ train KNN" in line:
            break
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=600) != 0
    models = len(list(tagflow.home.glob("data/model-*")))
    assert models in (1, 2)
    assert not [p for p in tagflow.home.glob("data/*") if p.name.startswith(".")]
    again = tagflow(*EXPERIMENT[:-1], endless.replace("100000", "3"), "--cluster", "local:2")
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("= train KNN: stands already") == models


def _interruptible() -> None:
    """A shell's background jobs ignore interrupts, and children inherit that."""
    os.setpgrp()
    signal.signal(signal.SIGINT, signal.default_int_handler)
