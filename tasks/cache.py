"""A step whose output already stands is not run again: the one cache, by content, shared by every flow."""

import json
import os
import platform
import resource
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect.states import Completed, State

from tagcore.store.datasets import MANIFEST, content_key, is_complete, read_manifest
from tagcore.store.files import write_text
from tasks.code_hash import code_hash
from tasks.progress import ProgressReporter

RECORD = "record.json"  # how a result was made; beside it, not part of it: results are the same bits on every run


@dataclass(frozen=True)
class PlannedResult:
    """What a step would make: known, with its place, before any work is done."""

    store: Path
    kind: str
    parameters: dict[str, Any]
    inputs: dict[str, str]

    @property
    def key(self) -> str:
        return content_key(self.kind, **self.manifest)

    @property
    def folder(self) -> Path:
        return stored_folder(self.store, self.kind, self.key)

    @property
    def manifest(self) -> dict[str, Any]:
        return {"parameters": self.parameters, "inputs": {**self.inputs, "code": code_hash()}}


def run_cached(plan: PlannedResult, title: str, make: Callable[[Path, ProgressReporter], None]) -> State[Path]:
    """Runs `make(folder, progress)` unless its result stands. The state hands the folder to the flow and tells Prefect
    which of the two it was."""
    step = ProgressReporter(title)
    if plan.folder.exists():  # asked first: what another run makes from here on is not damaged
        if is_complete(plan.folder, plan.key, plan.kind):
            step.remark = read_record(plan.folder).get("remark", "")
            step.tell("stands")
            return Completed(name="Cached", message=f"{title}: already made", data=plan.folder)
        aside = plan.folder.with_name(f"damaged-{plan.folder.name}-{uuid.uuid4().hex[:8]}")
        os.rename(plan.folder, aside)  # for whoever wants to look
        step.remark = f"what stood was damaged; it is kept as {aside.name}, and made again"
        step.tell("damaged")
        step.remark = ""
    step.tell("start")
    step.begin()
    try:
        make(plan.folder, step)
    except OSError:
        if not is_complete(plan.folder, plan.key, plan.kind):  # else another run made the same thing meanwhile
            raise
    seconds = time.perf_counter() - step.begun
    record = {
        "title": title,
        "remark": step.remark,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(time.process_time() - step.begun_cpu, 3),  # of this process
        "process_peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        **{name: round(value, 3) for name, value in step.costs.items()},
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_text(plan.folder / RECORD, json.dumps(record, indent=1))
    step.known = {"seconds": seconds}
    step.tell("made")
    return Completed(message=f"{title}: made in {seconds:.1f} s", data=plan.folder)


def stored_key(folder: Path, kind: str) -> str:
    """The key of a stored result, as an input of the next step."""
    return read_manifest(folder, kind)["key"]


def stored_folder(store: Path, kind: str, key: str) -> Path:
    """The place of the result with this key, whether it stands or not."""
    return store / f"{kind}-{key[:16]}"


def plain_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a stored result, of whatever kind it is."""
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


def read_record(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def is_transient(task: Any, run: Any, state: State) -> bool:
    """Whether trying again may help: a disk or a network may recover, bad input will not."""
    error = state.result(raise_on_failure=False)
    gone = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError, FileExistsError)
    return isinstance(error, OSError) and not isinstance(error, gone)
