"""What schedulers and workers of tests are forks of: their imports, four seconds of CPU each, are done here once."""

import os
import sys

import distributed.cli.dask_scheduler
import distributed.cli.dask_worker  # noqa: F401
from dask.cli import run_cli

import tasks.cluster.dask_executor  # noqa: F401
from tests.preload import load_models

load_models()


def run(command: list[str], environment: dict[str, str], folder: str, log: str) -> None:
    """Becomes `dask COMMAND...` with this environment, folder and file of its output."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.argv = ["dask", *command]
    run_cli()
