"""Choices made in turn on validation documents: each option is kept where it is surely better than what stands."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Changes = dict[str, Any]  # of settings, by dotted name


@dataclass(frozen=True)
class Trial:
    """One option as it was tried."""

    changes: Changes
    before: float  # mean quality of what stood
    after: float
    error: float  # standard error of the difference, over documents
    kept: bool


@dataclass(frozen=True)
class Chosen:
    """What was kept, how each option fared, and the options that no time was left for."""

    changes: Changes
    trials: list[Trial]
    untried: list[Changes]


def choose_in_turn(
    options: Sequence[Changes],
    quality: Callable[[Changes, Changes], tuple[np.ndarray, np.ndarray]],
    seconds: float = np.inf,
    clock: Callable[[], float] = time.monotonic,
) -> Chosen:
    """Tries the options in their order on top of what is kept so far, until the time is over.

    `quality(kept, option)` gives the quality of every validation document without the option and with it. An option is
    kept where the mean gain is above its standard error; of options that change the same setting a later one may take
    an earlier one's place.
    """
    begun = clock()
    kept: Changes = {}
    trials: list[Trial] = []
    for number, option in enumerate(options):
        if clock() - begun > seconds:
            return Chosen(kept, trials, list(options[number:]))
        before, after = quality(kept, option)
        gain = after - before
        error = float(gain.std(ddof=1) / np.sqrt(gain.size)) if gain.size > 1 else np.inf
        better = bool(gain.mean() > error)
        trials.append(Trial(option, float(before.mean()), float(after.mean()), error, better))
        if better:
            kept = kept | option
    return Chosen(kept, trials, [])
