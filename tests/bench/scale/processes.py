"""Work in a process of its own, so that its peak memory is its own."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from tasks.cluster.costs import peak_bytes


def alone(function: Callable[..., Any], *args: Any) -> Any:
    """function(*args), of a module, in a new process that ends with it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def peak_mib() -> int:
    """The most memory that this process held so far."""
    return peak_bytes() // 2**20
