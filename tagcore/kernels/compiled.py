"""Every kernel compiled once for the types that it is called with: among processes, whatever the values are, and anew
where what it is made of has changed.

Workers of a cluster, or runs side by side, ask for the same kernels at the same moment. numba would let each of them
compile; and as it numbers the files of a function's signatures by what its index holds at that moment, two that
compile different signatures at once may take the same number, and one then runs the machine code of the other. So
there is a lock on each kernel while it is compiled: one process compiles it, and the others find it.

What lies on disk holds the kernels that a kernel calls and the constants that it names as well, which may stand in
other files; numba looks at its own file only. So the stamp of what is on disk tells of them, too.

A process that only asks stored models loads what is compiled without readying the compiler, as `tagcore.kernels` says.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.caching import Cache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral

_held: set[str] = set()  # locks of this process, whose threads compile one after the other
_WITH_USES = "file and uses"  # marks a stamp that tells of all that a kernel is made of


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
        file = _cache_file(self)
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
    return bool(_cache_file(kernel)._load_index())


def _cache_file(kernel: Any) -> Any:
    """Where a kernel is kept on disk, or None; its stamp tells of all that the kernel is made of now."""
    file = getattr(kernel._cache, "_cache_file", None)
    if file is not None and file._source_stamp[0] != _WITH_USES:
        file._source_stamp = (_WITH_USES, file._source_stamp, _uses(kernel.py_func))
    return file


@cache
def _uses(function: FunctionType) -> str:
    """A digest of the byte code of a function and of all kernels that it calls, and of the constants named there."""
    digest, waiting, known = hashlib.sha256(), [function], {function}
    while waiting:
        caller = waiting.pop()
        for code in _with_inner(caller.__code__):
            constants = [c for c in code.co_consts if not isinstance(c, CodeType) and c != caller.__doc__]
            digest.update(repr((code.co_code, constants, code.co_names)).encode())
            for value in _named_values(caller, code):
                if isinstance(value, Dispatcher) and value.py_func not in known:
                    known.add(value.py_func)
                    waiting.append(value.py_func)
                elif isinstance(value, np.ndarray):
                    digest.update(repr((value.dtype.str, value.shape)).encode() + value.tobytes())
                elif isinstance(value, bool | int | float | complex | str | bytes | tuple | np.generic):
                    digest.update(repr(value).encode())
    return digest.hexdigest()


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _named_values(function: FunctionType, code: CodeType) -> Iterator[Any]:
    """What the names of a code stand for: globals, those of modules of ours that it reaches into, and what encloses."""
    for name in code.co_names:
        value = function.__globals__.get(name)
        yield value
        if isinstance(value, ModuleType) and value.__name__.startswith("tagcore."):
            yield from (getattr(value, other, None) for other in code.co_names)
    for cell in function.__closure__ or ():
        yield cell.cell_contents
