"""Workers that are killed while they start: others are started, and when that does not help it is told in one line."""

from pathlib import Path

import dask
import pytest

from tasks.cluster import connect
from tasks.cluster.connect import local_client, silence_dask_logs
from tasks.cluster.monitor import ClusterError

PRELOAD = """
import os, pathlib, signal
left = pathlib.Path({folder!r}, "left")
if (times := int(left.read_text())) > 0:
    left.write_text(str(times - 1))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def killed_at_start(tmp_path: Path):
    """Sets how many of the workers that start from now on are killed by that."""

    def set_times(times: int) -> dask.config.set:
        (tmp_path / "left").write_text(str(times))
        (tmp_path / "preload.py").write_text(PRELOAD.format(folder=str(tmp_path)))
        return dask.config.set({"distributed.worker.preload": [str(tmp_path / "preload.py")]})

    return set_times


def test_a_worker_killed_while_it_starts_is_started_again(killed_at_start) -> None:
    with silence_dask_logs(), killed_at_start(1), local_client(1, "1GiB") as client:
        assert client.submit(sum, [1, 2]).result() == 3


def test_workers_that_never_start_are_told_in_one_line(killed_at_start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_START_ATTEMPTS", 2)
    failing = pytest.raises(ClusterError, match=r"^cluster=local:1: a worker ended while it started, 2 times in a row")
    with silence_dask_logs(), killed_at_start(9), failing as raised, local_client(1, "1GiB"):
        pass
    assert "\n" not in str(raised.value)
