"""The command as a user runs it: a process of its own, on a state folder of the test session."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.flows.cluster_processes import DaskProcesses


@dataclass(frozen=True)
class Tagflow:
    """Runs `tagflow` on one state folder."""

    home: Path

    def __call__(self, *args: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*args), input=stdin, capture_output=True, text=True, timeout=240, env=self.environment(env)
        )

    def command(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "infra.cli.main", *args]

    def environment(self, more: dict[str, str] | None = None) -> dict[str, str]:
        return os.environ | {"TAGFLOW_HOME": str(self.home), "PYTHONWARNINGS": "ignore"} | (more or {})

    def json(self, *args: str) -> Any:
        done = self(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="session")
def tagflow_at() -> Iterator[Callable[[Path], Tagflow]]:
    """A command for any state folder; whatever it leaves running is stopped at the end."""
    made: list[Tagflow] = []

    def at(home: Path) -> Tagflow:
        made.append(Tagflow(home))
        return made[-1]

    yield at
    for tagflow in made:
        tagflow("down")


@pytest.fixture(scope="session")
def tagflow(tagflow_at, tmp_path_factory) -> Tagflow:
    return tagflow_at(tmp_path_factory.mktemp("state") / "home")


@pytest.fixture(scope="session")
def s3():
    """The environment of an S3 server on loopback with the bucket `runs`, which is set, too. One for all tests: fsspec
    remembers the endpoint that it was first asked for."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    env = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        boto3.client("s3").create_bucket(Bucket="runs")
        yield env
    server.stop()


@pytest.fixture(scope="module")
def s3_workers(s3, tmp_path_factory):
    """A scheduler and two workers that know the S3 server."""
    made = DaskProcesses(tmp_path_factory.mktemp("dask"), **s3)
    made.grow(2)
    yield made
    made.close()
