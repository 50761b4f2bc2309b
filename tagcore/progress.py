"""How long work tells whoever waits for it where it is."""

from collections.abc import Callable

Progress = Callable[[int, int, dict[str, float]], None]  # (done, total, what is known so far)


def no_progress(done: int, total: int, known: dict[str, float]) -> None:
    """The progress that nobody hears."""
