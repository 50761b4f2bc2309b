"""A process that only asks stored models says so before it imports them, and starts in a third of the time."""

_only = False


def serve_only() -> None:
    """Promises that this process fits nothing: models then do without scikit-learn, whose import takes a second, and
    kernels that are on disk without the compiler.

    Models that are imported already stay as they are.
    """
    global _only
    _only = True


def serves_only() -> bool:
    """Whether that was promised."""
    return _only
