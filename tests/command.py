"""The command as a user runs it: a process of its own, on a state folder."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
