"""The command as a user runs it: a process of its own, on a state folder."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from infra.stack.prefect_settings import flow_environment

TIMEOUT = 1200  # seconds: a command that hangs, however busy the machine is


@dataclass(frozen=True)
class Tagflow:
    """Runs `tagflow` on one state folder."""

    home: Path

    def __call__(self, *args: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        """Runs a command to its end, as a fork of a process that has imported all that commands import."""
        with tempfile.TemporaryDirectory() as folder:
            streams = {name: Path(folder, name) for name in ("stdin", "stdout", "stderr")}
            for name, path in streams.items():
                path.write_text(stdin if name == "stdin" else "")
            request = {"args": args, "environment": self.environment(env)} | {n: str(p) for n, p in streams.items()}
            code = _exit_code(request)
            return subprocess.CompletedProcess(args, code, streams["stdout"].read_text(), streams["stderr"].read_text())

    def command(self, *args: str) -> list[str]:
        """The words that start a command from nothing."""
        return [sys.executable, "-m", "infra.cli.main", *args]

    def environment(self, more: dict[str, str] | None = None) -> dict[str, str]:
        return os.environ | {"TAGFLOW_HOME": str(self.home), "PYTHONWARNINGS": "ignore"} | (more or {})

    def json(self, *args: str) -> Any:
        done = self(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def _exit_code(request: dict[str, Any]) -> int:
    warm = _warm_process()
    assert warm.stdin is not None
    assert warm.stdout is not None
    warm.stdin.write(json.dumps(request) + "\n")
    warm.stdin.flush()
    if not select.select([warm.stdout], [], [], TIMEOUT)[0]:
        os.killpg(warm.pid, signal.SIGKILL)  # the next command shall not be given the answer to this one
        _warm_process.cache_clear()
        raise subprocess.TimeoutExpired(request["args"], TIMEOUT)
    return int(warm.stdout.readline())


@cache
def _warm_process() -> subprocess.Popen[str]:
    """Ends with these tests, which hold the other end of its standard input."""
    nowhere = Path(tempfile.gettempdir(), "no-prefect-home")  # commands set their own
    environment = os.environ | flow_environment(nowhere, None) | {"PYTHONWARNINGS": "ignore"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.warm"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
