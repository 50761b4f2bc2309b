"""`tagflow run` as a user runs it, on the demo and on real sets: the table of each, and where the time went.

Overhead is everything that is not reading, features, training or measuring: start-up, Prefect, MLflow, plots. A second
run on the same data redoes no step: all of it is overhead.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from infra.stack.prefect import ensure_server

SETS = ("bibtex", "delicious", "eurlex4k", "stackexchange/cooking.csv.zip")
SHOWN = ("P@1", "P@3", "P@5", "nDCG@5", "AUC (row)", "macro-F1@5")


def run(data: Path | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as home:
        try:
            ensure_server(Path(home), say=print)
            for source in (None, *(str(data / s) for s in SETS if data)):
                name = "demo" if source is None else Path(source).name.split(".")[0]
                args = () if source is None else ("--data", source)
                first, second = (json.loads(tagflow(home, "run", "--json", *args)) for _ in range(2))
                rows += [_row(name, row) for row in first["report"]["rows"]]
                rows += [_account(f"{name}, first run", first), _account(f"{name}, second run", second)]
                print(f"{name} done", flush=True)
        finally:
            tagflow(home, "down")
    return rows


def tagflow(home: str, *args: str) -> str:
    command = [sys.executable, "-m", "infra.cli.main", *args]
    done = subprocess.run(command, env=os.environ | {"TAGFLOW_HOME": home}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(args)}: {done.stderr}")
    return done.stdout


def _row(name: str, row: dict[str, Any]) -> dict[str, Any]:
    return {"what": f"{name}: {row['model']}", **{m: row["shown"][m] for m in SHOWN}, "train s": row["train_seconds"]}


def _account(name: str, outcome: dict[str, Any]) -> dict[str, Any]:
    account = outcome["account"]
    return {
        "what": name,
        "train s": account["train_seconds"],
        "work s": account["work_seconds"],
        "overhead s": account["overhead_seconds"],
    }
