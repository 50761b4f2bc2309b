"""One task on many inputs: one after the other in this process, side by side where a cluster does the work."""

from pathlib import Path
from typing import Any

from prefect import Task
from prefect.states import State
from prefect.task_runners import ThreadPoolTaskRunner

from tasks.cluster.open_clusters import interrupt_work, parallel_tasks
from tasks.workspace import Workspace


def map_task(task: Task, calls: list[dict[str, Any]], workspace: Workspace) -> list[Path]:
    """Runs the task once for every call and gives the folders that were made, in the order of the calls.

    Where one fails the others still end: their results stand when the run is started again.
    """
    calls = [call | {"workspace": workspace} for call in calls]
    width = min(parallel_tasks(workspace.cluster), len(calls))
    if width <= 1:
        return [run_task(task, **call) for call in calls]
    threads: ThreadPoolTaskRunner[Path] = ThreadPoolTaskRunner(max_workers=width)
    with threads as runner:
        futures = [runner.submit(task, call) for call in calls]
        try:
            for future in futures:
                future.wait()
        except BaseException:
            interrupt_work()  # else the threads would go on, and this process wait for them
            raise
    return [_folder(future.state) for future in futures]


def run_task(task: Task, **arguments: Any) -> Path:
    """Runs the task once and gives the folder that it made."""
    return _folder(task(**arguments, return_state=True))


def _folder(state: State[Path]) -> Path:
    """The folder of a step, whether it was made now or stood already; its error is raised as it was."""
    return state.result()
