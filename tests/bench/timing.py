"""CPU seconds of this process: what a loaded machine distorts least."""

import time
from collections.abc import Callable
from typing import Any


def cpu(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def least_cpu(runs: int, *works: Callable[[], Any]) -> list[float]:
    """The least seconds of each of the works, all of which take turns: every side has as many runs."""
    return [min(seconds) for seconds in zip(*([cpu(work) for work in works] for _ in range(runs)), strict=True)]
