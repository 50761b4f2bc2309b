"""What values a parameter may have: the kinds of limits that a model names beside its parameters."""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from tagcore.scikit import check_random_state

MOST_ROUNDS = 100_000  # of anything that is done over and over: what takes more does not end
MOST_IDS = 2**31 - 1  # ids are kept as int32
MOST_BYTES = 2**62


class Limit(Protocol):
    """The values that one parameter may have."""

    def check(self, name: str, value: Any) -> None:
        """Raises ValueError that names the parameter, the value and what was expected."""


@dataclass(frozen=True)
class Whole:
    """A whole number from `least` to `most`, and None where it stands for a default."""

    least: int = 1
    most: int = MOST_IDS
    none: bool = False

    def check(self, name: str, value: Any) -> None:
        if value is None and self.none:
            return
        if not _is_whole(value):
            raise ValueError(f"{name} must be a whole number{' or None' * self.none}, got {value!r:.100}")
        if value < self.least:
            raise ValueError(f"{name} must be at least {self.least}, got {value}")
        if value > self.most:
            raise ValueError(f"{name} must be at most {self.most}, got {value!r:.100}")


@dataclass(frozen=True)
class Real:
    """A finite number from `least` (or above `above`) to `most`, and None where it stands for a default."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    none: bool = False

    def check(self, name: str, value: Any) -> None:
        if value is None and self.none:
            return
        finite = _is_number(value) and abs(value) <= sys.float_info.max
        if not (finite and value >= self.least and value > self.above and value <= self.most):
            raise ValueError(f"{name} must be {self._expected()}{' or None' * self.none}, got {value!r:.100}")

    def _expected(self) -> str:
        if (self.above, self.most) == (0, math.inf):
            return "positive"
        bounds = {"above": self.above, "at least": self.least, "at most": self.most}
        named = [f"{word} {bound:g}" for word, bound in bounds.items() if math.isfinite(bound)]
        return " and ".join(named) or "a finite number"


@dataclass(frozen=True)
class WholeOrShare:
    """A whole number from 1, or a share above 0 up to 1.0, and None where it stands for a default."""

    of: str
    none: bool = False

    def check(self, name: str, value: Any) -> None:
        if value is None and self.none:
            return
        whole = _is_whole(value) and 1 <= value <= MOST_IDS
        share = _is_number(value) and not _is_whole(value) and 0 < value <= 1
        if not (whole or share):
            expected = f"a whole number from 1 to {MOST_IDS} or a share of {self.of} up to 1.0{', or None' * self.none}"
            raise ValueError(f"{name} must be {expected}, got {value!r:.100}")


@dataclass(frozen=True)
class Flag:
    """True or False, which 1 and 0 may stand for."""

    def check(self, name: str, value: Any) -> None:
        if not (isinstance(value, bool | np.bool_) or _is_whole(value)) or value not in (0, 1):
            raise ValueError(f"{name} must be True or False, got {value!r:.100}")


class Choice:
    """One of a few words; None may be one of them."""

    def __init__(self, *words: str | None) -> None:
        self.words = words

    def check(self, name: str, value: Any) -> None:
        if not (value is None or isinstance(value, str)) or value not in self.words:
            names = ["None" if word is None else f'"{word}"' for word in self.words]
            expected = " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
            raise ValueError(f"{name} must be {expected}, got {value!r:.100}")


@dataclass(frozen=True)
class Numbers:
    """A list of finite numbers, and what else `otherwise` allows: how many is for the model to say."""

    otherwise: Limit

    def check(self, name: str, value: Any) -> None:
        if isinstance(value, list | tuple | np.ndarray):
            for number in value:
                Real().check(f"every one of {name}", number)
            return
        try:
            self.otherwise.check(name, value)
        except ValueError as error:
            raise ValueError(f"{error}, which is no list of numbers either") from error


@dataclass(frozen=True)
class Seed:
    """What scikit-learn's `check_random_state` takes: None, a whole number below 2³², or a generator."""

    def check(self, name: str, value: Any) -> None:
        if value is None or (_is_whole(value) and 0 <= value < 2**32):
            return
        try:
            check_random_state(value)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name} must be None, 0 to 4294967295 or a RandomState, got {value!r:.100}") from error


POSITIVE, FLAG, SEED = Real(above=0), Flag(), Seed()
ROUNDS, SIZE = Whole(1, MOST_ROUNDS), Whole(1, MOST_BYTES)


def limits(**of: Limit) -> Mapping[str, Limit]:
    """Gives the limits of each parameter by name."""
    return MappingProxyType(of)


def check_limits(of: Mapping[str, Limit], owner: Any) -> None:
    """Raises ValueError for the first attribute of the owner that is outside of its limits."""
    for name, limit in of.items():
        limit.check(name, getattr(owner, name))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
