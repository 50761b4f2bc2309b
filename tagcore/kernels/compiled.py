"""Every kernel compiled once for the types that it is called with: among processes, and whatever the values are.

Workers of a cluster, or runs side by side, ask for the same kernels at the same moment. numba would let each of them
compile; and as it numbers the files of a function's signatures by what its index holds at that moment, two that
compile different signatures at once may take the same number, and one then runs the machine code of the other. So
there is a lock on each kernel while it is compiled: one process compiles it, and the others find it.

A process that only asks stored models loads what is compiled without readying the compiler, as `tagcore.kernels` says.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any

from numba.core.caching import Cache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral

_held: set[str] = set()  # locks of this process, whose threads compile one after the other


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Holds a lock among processes; a kernel that calls itself has it already."""
    if path in _held:
        yield
        return
    handle = None
    with suppress(OSError):  # a folder that takes no lock takes no new kernels either, and some file systems have none
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        _held.add(path)
        yield
    finally:
        _held.discard(path)
        if handle is not None:
            os.close(handle)


def _for_any_value(signature: Any) -> Any:
    """The types of a call without the constants among its arguments.

    numba compiles a kernel that another calls once more for every constant, and for the 0 that a variable begins
    with, which no call needs: a tenth of all that is compiled.
    """
    return tuple(map(unliteral, signature)) if isinstance(signature, tuple) else signature


def _once(compile_kernel: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(compile_kernel)
    def compile_or_load(self: Any, signature: Any) -> Any:
        signature = _for_any_value(signature)
        file = getattr(self._cache, "_cache_file", None)
        if file is None:
            return compile_kernel(self, signature)
        # threads first: two of this process, one with the file and one with the compiler, would wait for each other
        with global_compiler_lock, _locked(f"{file._index_path}.lock"):
            return compile_kernel(self, signature)

    return compile_or_load


def compile_kernels_once() -> None:
    """Makes processes that call this compile every kernel once among them for the same types. Kernels do not call one
    another in a circle, so neither do those that wait."""
    if not hasattr(Dispatcher.compile, "__wrapped__"):
        Dispatcher.compile = _once(Dispatcher.compile)  # type: ignore[method-assign]


def load_without_compiler() -> None:
    """Makes this process load kernels that are on disk without readying the compiler first, a tenth of the start of a
    command. A kernel that is not there is compiled as ever."""
    Cache.load_overload = _load_alone


def _load_alone(cache: Any, signature: Any, target: Any) -> Any:
    rtsys.initialize(target)  # all that compiled code calls; what numba readies beside it is for its compiler
    with cache._guard_against_spurious_io_errors():
        kernel = cache._load_overload(signature, target)
    if kernel is None:
        target.refresh()
    return kernel


def is_on_disk(kernel: Any) -> bool:
    """Whether a kernel of today's source was compiled before, for any types."""
    return bool(kernel._cache._cache_file._load_index())
