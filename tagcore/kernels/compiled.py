"""A lock on numba's folder of compiled kernels, so that several processes may build it at once.

numba numbers the files of a function's signatures by what its index holds at that moment, and writes the index before
the file. Two workers that compile different signatures of one function at once may so take the same number, and one
then runs the machine code of the other; a reader in between runs what a former version of the source had left there.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any

from numba.core.caching import IndexDataCacheFile

_LOCK = "kernels.lock"


@contextmanager
def _locked(folder: str, operation: int) -> Iterator[None]:
    handle = None
    with suppress(OSError):  # a folder that takes no lock takes no new kernels either
        handle = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if handle is not None:
            fcntl.flock(handle, operation)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _under_lock(method: Callable[..., Any], operation: int) -> Callable[..., Any]:
    @wraps(method)
    def locked_method(self: IndexDataCacheFile, *args: Any) -> Any:
        with _locked(self._cache_path, operation):
            return method(self, *args)

    return locked_method


def lock_compiled_kernels() -> None:
    """Makes every process that calls this read and write compiled kernels one after the other."""
    for name, operation in (("save", fcntl.LOCK_EX), ("load", fcntl.LOCK_SH)):
        method = getattr(IndexDataCacheFile, name)
        if not hasattr(method, "__wrapped__"):
            setattr(IndexDataCacheFile, name, _under_lock(method, operation))


def is_on_disk(kernel: Any) -> bool:
    """Whether a kernel of today's source was compiled before, for any types."""
    return bool(kernel._cache._cache_file._load_index())
