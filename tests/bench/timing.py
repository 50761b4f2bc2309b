"""CPU seconds of this process: what a loaded machine distorts least."""

import time
from collections.abc import Callable
from typing import Any


def cpu(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
