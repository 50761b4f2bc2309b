"""What a person sees: progress and tables on a terminal, plain lines in a pipe, one JSON object for a machine."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks.progress import ProgressReporter
    from tasks.reporting.comparison import Report

_EVERY_SECONDS = 30.0  # where there is no bar, long work says at least so often where it is


def _process_start() -> float:
    import psutil

    return psutil.Process().create_time()


class Console:
    """Says what is happening. With `as_json` only the result goes to standard output."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.live = sys.stderr.isatty() and not as_json
        self.worked: dict[str, float] = {}  # seconds of real work by step, for the account at the end
        self._spans: list[tuple[float, float]] = []  # when steps were at work
        self.stood = 0
        self._bars: dict[int, Any] = {}  # by step: two of one title may be at work side by side
        self._progress: Any = None
        self._said = time.monotonic()

    def say(self, line: str) -> None:
        self._said = time.monotonic()
        if self._progress is not None:
            self._progress.console.print(line, highlight=False, markup=False)
        else:
            print(line, file=sys.stderr, flush=True)

    @contextmanager
    def session(self, home: Path | None, cluster: str | None = None) -> Iterator[None]:
        """Makes this process ready to run flows, which are imported inside, and shows their steps."""
        from infra.process_setup import prepare

        prepare(home, self.say, cluster)
        from tasks.progress import listen

        with self._bar_display(), listen(self._on_step):
            yield

    def account(self) -> dict[str, float]:
        """Says where the time went: the steps' own work, and all that Prefect, MLflow and start-up added."""
        total = time.time() - _process_start()
        training = sum(seconds for title, seconds in self.worked.items() if title.startswith("train "))
        return {
            "total_seconds": total,
            "work_seconds": sum(self.worked.values()),
            "train_seconds": training,
            "overhead_seconds": total - self._working(),
        }

    def show_account(self) -> None:
        """Prints the account as the last line."""
        account = self.account()
        self.say(
            f"\n{account['total_seconds']:.1f} s in all: {account['work_seconds']:.1f} s of work, "
            f"{account['train_seconds']:.1f} s of it training; {account['overhead_seconds']:.1f} s of Prefect, MLflow, "
            f"compiling and start-up; {self.stood} steps stood already"
        )

    def _working(self) -> float:
        """Seconds in which at least one step was at work."""
        total = until = 0.0
        for begun, ended in sorted(self._spans):
            total += max(0.0, ended - max(begun, until))
            until = max(until, ended)
        return total

    def result(self, plain: dict[str, Any]) -> None:
        """The result for machines."""
        print(json.dumps(plain, indent=1, default=str))

    def table(self, report: "Report") -> None:
        """Who is best, best first."""
        if not sys.stdout.isatty():
            print(report.markdown())
            return
        from rich.console import Console as RichConsole
        from rich.table import Table

        from tagcore.metrics.catalogue import rule_of

        model, *head = report.head()
        labelled = [i for i, column in enumerate(head, start=1) if rule_of(column)]  # a table of their own
        ranked = [i for i in range(1, len(head) + 1) if i not in labelled]
        for title, columns in ((report.title, ranked), ("labels by rule", labelled)):
            if not columns:
                continue
            table = Table(title=title, caption=report.about, title_style="bold")
            table.add_column(model, style="bold", overflow="fold")
            for column in (head[i - 1] for i in columns):
                table.add_column(column.replace(" ", "\n", 1) if len(column) > 12 else column, justify="right")
            for cells in report.cells():
                table.add_row(cells[0], *(cells[i].replace(" (", "\n(") for i in columns))
            RichConsole().print(table)

    def _on_step(self, step: "ProgressReporter", event: str) -> None:
        remark = f": {step.remark}" if step.remark else ""
        if event == "made":
            if "seconds" in step.known:
                self.worked[step.title] = self.worked.get(step.title, 0.0) + step.known["seconds"]  # once a seed
                now = time.monotonic()
                self._spans.append((now - step.known["seconds"], now))
            took = f" ({step.known['seconds']:.1f} s)" if "seconds" in step.known else ""
            self._finish(step, f"✓ {step.title}{took}{remark}")
        elif event == "stands":
            self._forget(step)
            self.tell_standing(step.title, step.remark)
        elif event in ("damaged", "left out"):
            self.say(f"! {step.title}{remark}")
        elif self._progress is not None:
            if id(step) not in self._bars:
                self._bars[id(step)] = self._progress.add_task(step.title, total=step.total or None)
            line = step.line if step.total else step.title
            self._progress.update(self._bars[id(step)], description=line, completed=step.done, total=step.total or None)
        elif event == "progress" and time.monotonic() - self._said >= _EVERY_SECONDS:
            self.say(f"… {step.line}")

    def tell_standing(self, title: str, remark: str) -> None:
        """Says and counts that the result of a step stands already."""
        self.stood += 1
        self.say(f"= {title}: stands already{f': {remark}' if remark else ''}")

    def _finish(self, step: "ProgressReporter", line: str) -> None:
        self._forget(step)
        self.say(line)

    def _forget(self, step: "ProgressReporter") -> None:
        if id(step) in self._bars:
            self._progress.remove_task(self._bars.pop(id(step)))

    @contextmanager
    def _bar_display(self) -> Iterator[None]:
        if not self.live:
            yield
            return
        from rich.console import Console as RichConsole
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(24), TimeElapsedColumn())
        with Progress(*columns, console=RichConsole(stderr=True), transient=True) as self._progress:
            try:
                yield
            finally:
                self._bars.clear()
                self._progress, shown = None, self._progress
                shown.stop()
