"""A real scheduler and real workers, each a process of its own on loopback, ended by their ids."""

import multiprocessing
import os
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from distributed import Client
from distributed.security import Security

from tasks.cluster.backends import Tls
from tests.tasks.cluster import dask_command

REPO = Path(__file__).parents[3]
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([dask_command.__name__])


class DaskProcesses:
    """A scheduler whose workers come and go one by one; with `tls` they speak to none without a certificate."""

    def __init__(self, folder: Path, *, tls: Tls | None = None, **env: str) -> None:
        self.folder = folder
        self.tls = [] if tls is None else ["--tls-ca-file", tls.ca, "--tls-cert", tls.cert, "--tls-key", tls.key]
        self.env = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"} | env
        self.file = folder / "scheduler.json"
        self.workers: list[ForkServerProcess] = []
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file)]
        self.scheduler = self._start("scheduler", *options, *(["--protocol", "tls"] if tls else []))
        security = tls and Security(tls_ca_file=str(tls.ca), tls_client_cert=str(tls.cert), tls_client_key=str(tls.key))
        self.client = Client(scheduler_file=str(self.file), timeout=600, set_as_default=False, security=security)
        self.address = self.client.scheduler_info(n_workers=0)["address"]

    def grow(self, count: int) -> None:
        """Starts workers until there are so many."""
        while len(self.workers) < count:
            options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "1GiB"]
            self.workers.append(self._start("worker", self.address, *options))
        self.client.wait_for_workers(count, timeout=600)

    def kill_worker(self) -> int:
        """Kills the worker that holds most values, of several the oldest: shards may lie on some workers alone. Returns
        how many it held."""
        addresses = {pid: address for address, pid in self.client.run(os.getpid).items()}
        held = {address: len(values) for address, values in self.client.has_what().items()}
        fullest = max(self.workers, key=lambda worker: held[addresses[worker.pid]])
        self.workers.remove(fullest)
        self._end(fullest)
        return held[addresses[fullest.pid]]

    def kill_scheduler(self) -> None:
        self._end(self.scheduler)

    def close(self) -> None:
        self.client.close(timeout=1)
        for process in (*self.workers, self.scheduler):
            self._end(process)

    def _start(self, what: str, *options: str) -> ForkServerProcess:
        log = self.folder / f"{what}-{time.monotonic_ns()}.log"
        command = [what, *options, *map(str, self.tls)]
        process = _FORKS.Process(target=dask_command.run, args=(command, self.env, str(REPO), str(log)), daemon=True)
        process.start()
        return process

    @staticmethod
    def _end(process: ForkServerProcess) -> None:
        process.kill()
        process.join(timeout=600)
