"""The root of a cluster: a folder or an S3 server, data read from it by row groups, and what a bad one tells."""

import numpy as np
import pytest

from tagcore.features.rows import StoredRows, shards_of
from tagcore.shards import InProcess
from tagcore.store.datasets import StoreError
from tagcore.store.storage import Folder
from tagcore.training import Checkpoints
from tasks.cluster import connect as cluster_connect
from tasks.cluster.backends import Cluster, Scheduler
from tasks.cluster.monitor import ClusterError
from tasks.cluster.storage import Remote, storage_at
from tests.tagcore.features.test_rows import damage, features, matrices, stored_features
from tests.tasks.cluster.toys import learn


@pytest.fixture
def bucket(s3, request):
    return storage_at(f"s3://runs/{request.node.name}")


def test_a_bucket_keeps_files_as_a_folder_does(bucket, tmp_path):
    arrays = {"rows": np.arange(6.0).reshape(2, 3), "columns": np.asfortranarray(np.ones((3, 2), np.float32))}
    for storage in (bucket, Folder(tmp_path)):
        assert storage.inside("part").names() == []
        storage.write("b", b"old")
        storage.write("b", b"new")
        storage.inside("part").write_arrays("a", arrays)
        assert storage.names() == ["b", "part"]
        assert storage.read("b") == storage.open("b").read() == b"new"
        with storage.open("b") as content:
            storage.inside("copy").write_stream("b", content)
        assert storage.inside("copy").read("b") == b"new"
        storage.remove("copy")
        for name, found in storage.inside("part").read_arrays("a").items():
            np.testing.assert_array_equal(found, arrays[name], strict=True)
            assert found.flags.f_contiguous == arrays[name].flags.f_contiguous
        with pytest.raises(FileExistsError):
            storage.inside("part").create()
        with pytest.raises(FileNotFoundError):
            storage.read("c")
        with pytest.raises(ValueError, match="b: not a file of arrays"):
            storage.read_arrays("b")
        storage.remove("b", "part", "never")
        assert storage.names() == []


def test_training_with_its_files_and_checkpoints_in_a_bucket(s3_workers, bucket):
    expected = learn(InProcess())
    checkpoints = Checkpoints(bucket.inside("checkpoints"), "toy", every_seconds=0)
    seen = []
    with Cluster(Scheduler(s3_workers.address), str(bucket)).open() as executor:
        found = learn(executor, checkpoints=checkpoints, progress=lambda *_: seen.append(executor.storage.names()))
        assert isinstance(executor.storage, Remote)
    assert found.arrays["centres"].tobytes() == expected.arrays["centres"].tobytes()
    assert any(name.startswith("argument-") for name in seen[-1])
    assert bucket.inside("runs").names() == []
    resumed = learn(InProcess(), checkpoints=checkpoints)
    assert resumed.resumed_from == len(expected.history)
    assert resumed.arrays["centres"].tobytes() == expected.arrays["centres"].tobytes()


def column_sums(shard, state):
    X, Y = shard.data
    return {"words": np.asarray(X.sum(axis=0)).ravel(), "tags": np.asarray(Y.sum(axis=0)).ravel()}


@pytest.mark.parametrize("where", ["folder", "bucket"])
def test_workers_read_their_own_row_groups(s3_workers, bucket, tmp_path, where):
    folder = features(tmp_path)
    rows = StoredRows.open(folder, "train")
    if where == "bucket":
        bucket.write(rows.files[0], (folder / rows.files[0]).read_bytes())
        rows = rows.at(bucket)
    expected = shards_of(StoredRows.open(folder, "train"), 5, tuple).sum(column_sums)
    with Cluster(Scheduler(s3_workers.address), tmp_path / "root").open() as executor:
        found = shards_of(rows, 5, tuple, executor).sum(column_sums)
        assert executor.traffic.sent == 0
    for name, values in expected.items():
        assert found[name].tobytes() == values.tobytes()
    X, _ = matrices(folder)
    np.testing.assert_allclose(found["words"], np.asarray(X.sum(axis=0)).ravel(), rtol=1e-5)


def test_a_damaged_row_group_is_one_clear_error(s3_workers, tmp_path, capfd):
    folder = features(tmp_path)
    rows = StoredRows.open(folder, "train")
    damage(folder, 3)
    with Cluster(Scheduler(s3_workers.address), tmp_path / "root").open() as executor:
        with pytest.raises(StoreError, match=r"train\.parquet: row group 3 is damaged"):
            shards_of(rows, 5, tuple, executor).sum(column_sums)
        found = stored_features(tmp_path / "other")
        assert len(shards_of(found, 5, tuple, executor).collect(column_sums)) == 5
    assert "Traceback" not in capfd.readouterr().err


def test_a_root_that_workers_do_not_reach_is_named(s3_workers, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_connect, "inspect_worker", lambda *_: "FileNotFoundError()")
    with (
        pytest.raises(ClusterError, match=r"cannot read .*all workers must reach the root"),
        Cluster(Scheduler(s3_workers.address), tmp_path).open(),
    ):
        pass


def test_workers_with_other_code_are_refused(s3_workers, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_connect, "software_versions", lambda: {"tagcore": "other"})
    with (
        pytest.raises(ClusterError, match=r"has tagcore .*, this process other: results would differ"),
        Cluster(Scheduler(s3_workers.address), tmp_path).open(),
    ):
        pass
