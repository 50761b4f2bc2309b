"""One task on many inputs: one after the other in this process, side by side where a cluster does the work."""

from pathlib import Path
from typing import Any

from prefect import Task
from prefect.states import State
from prefect.task_runners import ThreadPoolTaskRunner

from tasks.cluster.sessions import interrupt_work, parallel_tasks
from tasks.settings import load_settings


def map_task(task: Task, calls: list[dict[str, Any]]) -> list[Path]:
    """The folders that the calls made, in their order.

    Where one fails the others still end: their results stand when the run is started again.
    """
    width = min(parallel_tasks(load_settings()), len(calls))
    if width <= 1:
        return [result_of(task(**call, return_state=True)) for call in calls]
    threads: ThreadPoolTaskRunner[Path] = ThreadPoolTaskRunner(max_workers=width)
    with threads as runner:
        futures = [runner.submit(task, call) for call in calls]
        try:
            for future in futures:
                future.wait()
        except BaseException:
            interrupt_work()  # else the threads would go on, and this process wait for them
            raise
    return [result_of(future.state) for future in futures]


def result_of(state: State) -> Path:
    """The folder of a step, whether it was made now or stood already; its error is raised as it was."""
    return state.result()
