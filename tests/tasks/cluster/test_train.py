"""`tagflow train --cluster`: the same model wherever it is trained, and the performance report on its run."""

import hashlib
import shutil

import pytest

from tests.tasks.cluster.processes import DaskProcesses


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    made = DaskProcesses(tmp_path_factory.mktemp("dask"))
    made.grow(2)
    yield made.address
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bmlpl", "bomc", "mmsg"])
def test_the_same_model_in_process_on_local_workers_and_at_an_address(model, scheduler, tagflow_at, tmp_path):
    tagflow, found = tagflow_at(tmp_path / "home"), {}
    for cluster in ("none", "local:2", scheduler):
        for old in tagflow.home.glob("data/model-*"):
            shutil.rmtree(old)  # its key says nothing of where it was trained: it would stand already
        tagflow.json("train", model, "--set", "data.documents=600", "--cluster", cluster)
        (state,) = tagflow.home.glob("data/model-*/model/state.safetensors")
        found[cluster] = hashlib.sha256(state.read_bytes()).hexdigest()
        reported = bool(list(tagflow.home.glob("mlartifacts/*/*/artifacts/performance.html")))
        assert reported == (cluster != "none")
    assert len(set(found.values())) == 1, found
