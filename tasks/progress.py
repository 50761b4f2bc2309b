"""How long work says where it is: to whoever listens in this process, and to Prefect as a progress artifact."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.context import FlowRunContext, TaskRunContext
from prefect.logging import get_run_logger

# (step, what happened: "start", "progress", "made", "stands", "damaged", "left out")
Listener = Callable[["ProgressReporter", str], None]

_listeners: list[Listener] = []
_TOLD = {"made": "made", "stands": "stands already", "damaged": "was damaged"}  # in the log of the run


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def noted_steps() -> Iterator[list[list[str]]]:
    """Gathers the titles and remarks of all steps that end, made or standing, in their order."""
    steps: list[list[str]] = []

    def note(step: "ProgressReporter", event: str) -> None:
        if event in ("made", "stands"):
            steps.append([step.title, step.remark])

    with listen(note):
        yield steps


@dataclass
class ProgressReporter:
    """One piece of work as seen from outside. Calling it reports progress, as tagcore's `Progress`."""

    title: str
    done: int = 0
    total: int = 0
    known: dict[str, float] = field(default_factory=dict)
    remark: str = ""  # what a person should know of the result
    costs: dict[str, float] = field(default_factory=dict)  # what else it took, for the record
    every_seconds: float = 2.0
    begun: float = 0.0
    begun_cpu: float = 0.0
    _reported: float = field(default_factory=time.monotonic)
    _artifact: UUID | None = None

    def begin(self) -> None:
        """The work itself begins here: what went before, such as compiling kernels, is not counted."""
        self.begun, self.begun_cpu = time.perf_counter(), time.process_time()

    def tell(self, event: str) -> None:
        for listener in _listeners:
            listener(self, event)
        if event == "made" and self._artifact is not None:  # the last report may be from halfway
            self._to_prefect(100.0)
        if event in _TOLD and (TaskRunContext.get() or FlowRunContext.get()):
            get_run_logger().info(self.result_line(event))

    def result_line(self, event: str) -> str:
        """What came of it, for the log of the run: made in how long, with what numbers, or found to stand."""
        known = "".join(f", {name} {value:.4g}" for name, value in self.known.items())
        remark = f"; {self.remark}" if self.remark else ""
        return f"{self.title}: {_TOLD[event]}{known if event == 'made' else ''}{remark}"

    @property
    def line(self) -> str:
        """Where it is: 12 of 100, and what is known by now."""
        known = "".join(f", {name} {value:.4g}" for name, value in self.known.items())
        return f"{self.title}: {self.done:,}{f' of {self.total:,}' if self.total else ' so far'}{known}"

    def __call__(self, done: int, total: int, known: dict[str, float]) -> None:
        self.done, self.total, self.known = done, total, known
        self.tell("progress")
        now = time.monotonic()
        if now - self._reported >= self.every_seconds and TaskRunContext.get():
            self._reported = now
            self._to_prefect(100.0 * done / max(total, 1))

    def _to_prefect(self, percent: float) -> None:
        if self._artifact is None:
            self._artifact = cast(UUID, create_progress_artifact(progress=percent, description=self.line))
        else:
            update_progress_artifact(self._artifact, progress=percent, description=self.line)
