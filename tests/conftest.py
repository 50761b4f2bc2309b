"""Fixtures that every test may use."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

from tests.command import Tagflow

# the parts of `make test` share the cores: a second BLAS thread in each of them mostly spins: up to six times the CPU
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# no deadline: a first call compiles. `make test` says the same on every machine, by 50 examples where a test sets no
# number; TAGFLOW_EXAMPLES=10 (`make test-all`) draws freely, ten times what a test asks for (100), and what it finds
# becomes an explicit @example
TIMES = int(os.environ.get("TAGFLOW_EXAMPLES", "0"))
settings.register_profile("tagflow", deadline=None, derandomize=not TIMES, max_examples=100 if TIMES else 50)
settings.load_profile("tagflow")

gc.set_threshold(20_000, 20, 50)  # compiling makes millions of objects: to look for garbage took a twelfth of the time


def pytest_collection_finish() -> None:
    """Takes what is imported out of the search for garbage."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts tests on clusters last: what they compile, the other parts of `make test` have compiled by then.

    Multiplies the examples of property tests, also of those that set their number themselves.
    """
    items.sort(key=lambda item: "cluster" in item.path.parts)
    tests = {item.function for item in items if isinstance(item, pytest.Function)}
    for test in filter(is_hypothesis_test, tests) if TIMES else ():
        own = test._hypothesis_internal_use_settings  # type: ignore[attr-defined]  # no public name reads or sets it
        test._hypothesis_internal_use_settings = settings(own, max_examples=TIMES * own.max_examples)  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """the folder of real data sets, beside the repo or where TAGFLOW_TEST_DATA says; skips without it."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TAGFLOW_TEST_DATA", beside))
    if not folder.is_dir():
        pytest.skip("the real data sets are not here")
    return folder


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
    import boto3
    from moto.server import ThreadedMotoServer

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
    from tests.tasks.cluster.processes import DaskProcesses

    made = DaskProcesses(tmp_path_factory.mktemp("dask"), **s3)
    made.grow(2)
    yield made
    made.close()
