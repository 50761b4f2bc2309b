"""A process that has imported what the command imports, and forks for every command: `python -m tests.warm`.

Importing Prefect, MLflow and numba takes a command nine seconds of CPU, and the tests run some hundred. A fork has the
environment, the streams, the exit code and the end of a process of its own; only its imports are done already.
"""

import importlib
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.preload import load_models

IMPORTED = (
    "flows.experiment",
    "flows.nightly",
    "git",
    "matplotlib.pyplot",
    "mlflow.pyfunc",
    "PIL.BmpImagePlugin",
    "prefect.flow_engine",
    "prefect.task_engine",
    "sklearn.isotonic",
    "sklearn.svm",
)


def import_all() -> None:
    """Imports what commands import at their first use of it; what a registry imports, by opening one."""
    for name in IMPORTED:
        importlib.import_module(name)
    from mlflow.utils.requirements_utils import warn_dependency_requirement_mismatches

    from tasks.registry.client import require_reachable
    from tests.workspaces import new_registry_at

    with tempfile.TemporaryDirectory() as folder:
        require_reachable(new_registry_at(Path(folder)))
    warn_dependency_requirement_mismatches(["mlflow"])  # reads what all packages say of themselves
    load_models()
    assert threading.active_count() == 1, f"a fork would lack the threads {threading.enumerate()}"


def serve() -> None:
    """Answers each line of standard input, a request, with the exit code of its command; returns in the forks alone."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            become(json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    os._exit(0)


def become(request: dict[str, Any]) -> None:
    """Takes on the arguments, environment and streams of a command."""
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, (path, flags) in enumerate(
        ((request["stdin"], os.O_RDONLY), (request["stdout"], os.O_WRONLY), (request["stderr"], os.O_WRONLY))
    ):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    sys.argv = ["tagflow", *request["args"]]


if __name__ == "__main__":
    import_all()
    from infra.cli.main import main

    serve()
    main()
