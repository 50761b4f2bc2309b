"""What a search may choose from: some values of a setting, or all numbers between two."""

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import model_validator

from tasks.recipe_part import RecipePart

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


class SearchRange(RecipePart):
    """Numbers from `low` to `high`, whole ones where both are; `log` draws them by their size."""

    low: int | float
    high: int | float
    log: bool = False

    @model_validator(mode="after")
    def _from_low_to_high(self) -> "SearchRange":
        if not self.low < self.high:
            raise ValueError(f"low = {self.low} and high = {self.high}: expected the first to be less")
        if self.log and self.low <= 0:
            raise ValueError(f"low = {self.low}: expected a number above 0 with log")
        return self

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are drawn."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def holds(self, value: Any) -> bool:
        """Whether the value is one of the range."""
        kinds = int if self.whole else int | float
        return isinstance(value, kinds) and not isinstance(value, bool) and self.low <= value <= self.high


Space = Mapping[str, SearchRange | list[Any]]


def ranges_in(space: Space) -> list[str]:
    """Names the settings that are chosen from a range, of which there is no grid."""
    return [name for name, values in space.items() if isinstance(values, SearchRange)]


def grid_points(space: Space) -> Iterator[dict[str, Any]]:
    """Yields every combination of the listed values."""
    lists = [values for values in space.values() if isinstance(values, list)]
    for values in itertools.product(*lists):
        yield dict(zip(space, values, strict=True))


def holds_point(space: Space, point: Mapping[str, Any]) -> bool:
    """Whether the search might have chosen this point."""
    return set(point) == set(space) and all(
        values.holds(point[name]) if isinstance(values, SearchRange) else point[name] in values
        for name, values in space.items()
    )


def distributions_of(space: Space) -> dict[str, "BaseDistribution"]:
    """Gives Optuna's distributions; of listed values, which may be lists themselves, the places."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found: dict[str, BaseDistribution] = {}
    for name, values in space.items():
        if isinstance(values, list):
            found[name] = CategoricalDistribution(range(len(values)))
        elif values.whole:
            found[name] = IntDistribution(int(values.low), int(values.high), log=values.log)
        else:
            found[name] = FloatDistribution(values.low, values.high, log=values.log)
    return found


def to_optuna(space: Space, point: Mapping[str, Any]) -> dict[str, Any]:
    """Gives the point with places instead of listed values."""
    return {n: values.index(point[n]) if isinstance(values, list) else point[n] for n, values in space.items()}


def from_optuna(space: Space, params: Mapping[str, Any]) -> dict[str, Any]:
    """Gives the point of Optuna's parameters: listed values for their places, numbers of four digits, as people set."""
    return {
        name: values[params[name]] if isinstance(values, list) else _short(params[name], values)
        for name, values in space.items()
    }


def _short(value: float, values: SearchRange) -> float:
    return value if values.whole else min(max(float(f"{value:.4g}"), values.low), values.high)
