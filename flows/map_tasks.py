"""One task on many inputs: one after the other in this process, side by side where a cluster does the work."""

from pathlib import Path
from typing import Any

from prefect import Task
from prefect.states import State
from prefect.task_runners import ThreadPoolTaskRunner

from tasks.cluster.sessions import interrupt, side_by_side
from tasks.settings import load_settings


def each(task: Task, calls: list[dict[str, Any]]) -> list[Path]:
    """The folders that the calls made, in their order.

    Where one fails the others still end: their results stand when the run is started again.
    """
    width = min(side_by_side(load_settings()), len(calls))
    if width <= 1:
        return [made(task(**call, return_state=True)) for call in calls]
    threads: ThreadPoolTaskRunner[Path] = ThreadPoolTaskRunner(max_workers=width)
    with threads as runner:
        futures = [runner.submit(task, call) for call in calls]
        try:
            for future in futures:
                future.wait()
        except BaseException:
            interrupt()  # else the threads would go on, and this process wait for them
            raise
    return [made(future.state) for future in futures]


def made(state: State) -> Path:
    """The folder of a step, whether it was made now or stood already; its error is raised as it was."""
    return state.result()
