"""What a user can mend of an error that comes from underneath, told in one line instead of a traceback."""

import errno
from collections.abc import Iterator

STANDS = "what is finished stands, the same command goes on from there"

# their messages are written for users
_TOLD = (ValueError, OSError, FloatingPointError)
_DISK_FULL = ("no space left on device", "disk is full", "disk full")  # safetensors, sqlite and others wrap the errno
_HTTP = {"httpx", "httpcore"}


def one_line_of(error: BaseException) -> str | None:
    """The line that says what is wrong; None for an error that nobody foresaw."""
    for cause in _causes(error):
        if _is_disk_full(cause):
            where = f" ({cause.filename})" if isinstance(cause, OSError) and cause.filename else ""
            return f"no space is left on the disk{where}; make room: {STANDS}"
    from infra.stack.part import StackError  # here: no command needs them to start
    from infra.stack.prefect import PrefectServerError

    if isinstance(error, (*_TOLD, PrefectServerError, StackError)):
        return str(error)
    if any(_is_of_prefect(cause) for cause in _causes(error)):
        first = str(error).partition("\n")[0]
        return f"Prefect's API no longer answers ({type(error).__name__}: {first}): {STANDS}"
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, each once."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _is_disk_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return any(sign in str(error).lower() for sign in _DISK_FULL)


def _is_of_prefect(error: BaseException) -> bool:
    """Whether a request to Prefect failed: nothing else here lets an error of HTTP out."""
    packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}  # importing httpx takes too long
    return bool(packages & _HTTP) or "Failed to reach API" in str(error)
