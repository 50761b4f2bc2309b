"""The clusters of a flow: opened once for all its steps, in whatever thread they run, and closed at its end."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from tagcore.shards import InProcess
from tasks.cluster.backends import Cluster, DaskBackend, LocalWorkers
from tasks.cluster.open_clusters import executor_for, interrupt_work, open_clusters, parallel_tasks


@dataclass(frozen=True)
class CountedThreads(DaskBackend):
    """A Dask cluster of threads of this process, which notes when it is opened and closed."""

    events: tuple[list[str]] = ([],)

    @contextmanager
    def open_client(self) -> Iterator[Client]:
        self.events[0].append("open")
        options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
        with LocalCluster(**options) as workers, closing(Client(workers)) as client:
            yield client
        self.events[0].append("close")

    def __hash__(self) -> int:
        return id(self.events)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(CountedThreads(([],)), tmp_path / "root")


def events(cluster: Cluster) -> list[str]:
    assert isinstance(cluster.backend, CountedThreads)
    return cluster.backend.events[0]


def test_steps_of_a_flow_share_one_cluster_in_any_thread(cluster: Cluster, tmp_path: Path) -> None:
    """as Prefect runs tasks: in threads, each with a copy of the flow's context."""

    def step() -> int:
        with executor_for(cluster, 1) as executor:
            return id(executor)

    with open_clusters(tmp_path / "report.html") as clusters, ThreadPoolExecutor(3) as pool:
        steps = [pool.submit(copy_context().run, step) for _ in range(6)]
        assert {future.result() for future in steps} == {id(clusters.executor(cluster))}
        assert events(cluster) == ["open"]
    assert events(cluster) == ["open", "close"]


def test_a_step_outside_a_flow_opens_a_cluster_of_its_own(cluster: Cluster) -> None:
    for _ in range(2):
        with executor_for(cluster, 1) as executor:
            assert executor.count_workers() == 2  # type: ignore[attr-defined]
    assert events(cluster) == ["open", "close"] * 2


def test_a_flow_in_this_process_opens_nothing(tmp_path: Path) -> None:
    with open_clusters(tmp_path / "report.html") as clusters, executor_for(Cluster(), 2) as executor:
        assert isinstance(executor, InProcess)
        assert not clusters.opened


def test_interrupted_work_is_closed_and_that_of_no_flow_is_nothing(cluster: Cluster, tmp_path: Path) -> None:
    interrupt_work()
    states: list[str] = []

    def interrupted_flow() -> None:
        with open_clusters(tmp_path / "report.html") as clusters:
            client = clusters.executor(cluster).client
            states.append(client.status)
            interrupt_work()
            states.append(client.status)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted_flow()
    assert states == ["running", "closed"]


def test_as_many_tasks_as_workers(cluster: Cluster) -> None:
    assert parallel_tasks(Cluster()) == 1
    assert parallel_tasks(Cluster(LocalWorkers(7))) == 7
    assert parallel_tasks(cluster) == 2
