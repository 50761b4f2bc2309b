"""The setting `cluster`: what each form means, and what a wrong one tells."""

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tagcore.shards import InProcess
from tasks.cluster import connect
from tasks.cluster.backends import (
    Backend,
    Cluster,
    KubernetesCluster,
    LocalWorkers,
    Scheduler,
    ThisProcess,
    Tls,
    parse_backend,
)
from tasks.cluster.monitor import ClusterLostError
from tasks.settings import load_settings

TLS = Tls(Path("ca"), Path("cert"), Path("key"))
FORMS: dict[str, tuple[Backend, bool, int | None]] = {  # what each is, whether it has workers, how many tasks at a time
    "none": (ThisProcess(), False, 1),
    "local:12": (LocalWorkers(12, "6GiB"), True, 12),
    "tcp://there:8786": (Scheduler("tcp://there:8786", TLS), True, None),
    "tls://there:8786": (Scheduler("tls://there:8786", TLS), True, None),
    "kubernetes:nightly.dask": (KubernetesCluster("nightly.dask"), True, None),
}


@pytest.mark.parametrize("setting", FORMS)
def test_a_setting_is_a_backend_and_a_backend_is_called_by_it(setting: str) -> None:
    backend = parse_backend(setting, memory="6GiB", tls=TLS)
    assert (backend, backend.has_workers, backend.task_limit) == FORMS[setting]
    assert str(backend) == setting


@pytest.mark.parametrize(
    "setting", ["", "None", "local", "local:0", "local:-1", "banana", "http://x", "tcp://", "kubernetes:"]
)
def test_a_wrong_setting_is_one_error_that_names_the_forms(setting: str) -> None:
    with pytest.raises(ValueError, match=r"setting cluster=.*: expected none, local:N, tcp://HOST:PORT, .*kubernetes:"):
        parse_backend(setting)


def test_settings_say_where(tmp_path: Path) -> None:
    assert Cluster.of(load_settings(home=tmp_path)) == Cluster(ThisProcess(), str(tmp_path / "cluster"))
    files = {"cluster_ca": "ca", "cluster_cert": "cert", "cluster_key": "key"}
    there = Cluster.of(load_settings(cluster="tls://there:1", root="s3://runs", memory="6GiB", **files))
    assert there == Cluster(Scheduler("tls://there:1", TLS), "s3://runs")
    beside = Cluster.of(load_settings(cluster="local:3", root="s3://runs", memory="6GiB"))
    assert beside == Cluster(LocalWorkers(3, "6GiB"), "s3://runs")


def test_this_process_opens_nothing(tmp_path: Path) -> None:
    with Cluster(root=tmp_path).open(threads=3) as executor:
        assert isinstance(executor, InProcess)
        together = threading.Barrier(3, timeout=600)
        assert sorted(executor.get([executor.call(together.wait) for _ in range(3)])) == [0, 1, 2]
    assert not list(tmp_path.iterdir())


def test_a_command_that_only_parses_the_setting_imports_no_dask() -> None:
    code = (
        "import sys, tasks.cluster.backends as b; b.parse_backend('local:2'); print({'dask', 'numpy'} & {*sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("backend", "root", "message"),
    [
        (KubernetesCluster("here"), None, "dask-kubernetes"),
        (Scheduler("tls://127.0.0.1:1", TLS), None, "cluster_ca=.*no such file"),
        (LocalWorkers(1, "lots"), None, "memory 'lots'"),
        (LocalWorkers(1), "nowhere://x", "no file system for this address"),
    ],
)
def test_what_is_missing_is_named(backend: Backend, root: str | None, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message), Cluster(backend, root or tmp_path).open():
        pass


def test_a_tls_address_needs_certificates() -> None:
    with pytest.raises(ValueError, match="set cluster_ca, cluster_cert and cluster_key"):
        parse_backend("tls://127.0.0.1:1")


def test_an_address_where_nobody_answers_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_CONNECT_SECONDS", 1)
    silent = Cluster(Scheduler("tcp://127.0.0.1:1"), tmp_path)
    with pytest.raises(ClusterLostError, match="no scheduler answers there"), silent.open():
        pass


def test_a_scheduler_is_asked_whether_it_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert Scheduler(f"tcp://{address}").require_reachable() == f"tcp://{address} answers"
        with pytest.raises(ValueError, match="cluster_ca=ca: no such file"):
            Scheduler(f"tls://{address}", TLS).require_reachable()
    with pytest.raises(ConnectionError, match="no scheduler answers there"):
        Scheduler(f"tcp://{address}").require_reachable()
