"""The taggers that a blend is made of, as plain data: class names, with parameters where they differ from the usual,
and the columns that each reads, where these are not all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.base import find_model_class, registered_models
from tagcore.features.side_by_side import Columns
from tagcore.numeric.columns import take_columns
from tagcore.tag_model import TagModel

DEFAULT_MEMBERS: tuple[Any, ...] = ("OneVsRestLinear", "KNN", "BOMC")
MOST_MEMBERS = 16
COLUMNS = "columns"  # of a member's plain form: what no parameter of its class may be called


@dataclass(frozen=True, eq=False)
class Member:
    """A tagger of a blend, and which columns of the rows it reads; None: all."""

    model: TagModel
    columns: Columns | None = None

    def rows(self, X: sp.csr_matrix) -> sp.csr_matrix:
        """Checked rows as this member reads them."""
        return X if self.columns is None else take_columns(X, *self.columns)

    def scores(self, X: sp.csr_matrix) -> np.ndarray:
        return self.model._scores(self.rows(X))


@dataclass(frozen=True)
class MemberList:
    """The limit of a blend's `members`: None, or some class names and `{"model": name, parameter: value, …}`, with
    `"columns": [start, stop]` where a member does not read all."""

    def check(self, name: str, value: Any) -> None:
        if value is None:
            return
        if isinstance(value, str) or not isinstance(value, Sequence) or not 1 <= len(value) <= MOST_MEMBERS:
            raise ValueError(f"{name} must be None or a list of 1 to {MOST_MEMBERS} models, got {value!r:.100}")
        for member in value:
            try:
                make_member(member, 0).model._check_params()
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error


def make_members(members: Sequence[Any] | None, seed: int) -> list[Member]:
    """Makes the members, the first of which leads: it says which tags others are seen beside."""
    return [make_member(member, seed) for member in (DEFAULT_MEMBERS if members is None else members)]


def class_of(member: Any) -> str:
    """The class name in a member's plain form."""
    return member if isinstance(member, str) else member["model"]


def with_parameter(member: Any, name: str, parameter: str, value: Any) -> Any:
    """A member's plain form with a parameter, where it is of that class and does not say its own."""
    if class_of(member) != name or (not isinstance(member, str) and parameter in member):
        return member
    return {**({"model": member} if isinstance(member, str) else member), parameter: value}


def make_member(member: Any, seed: int) -> Member:
    """Makes a member of its plain form; ValueError says what is wrong with any other."""
    plain = {"model": member} if isinstance(member, str) else member
    if not isinstance(plain, dict) or not isinstance(plain.get("model"), str):
        raise ValueError(f'a member is {member!r:.100}, expected a class name or {{"model": name, …}}')
    name = plain["model"]
    cls = find_model_class(name)
    if cls is None or not issubclass(cls, TagModel) or not cls.can_be_member:
        known = registered_models().items()
        choices = sorted(n for n, c in known if issubclass(c, TagModel) and c.can_be_member)
        raise ValueError(f"a member is {name!r:.100}, expected one of {', '.join(choices)}")
    params = {key: value for key, value in plain.items() if key not in ("model", COLUMNS)}
    defaults = cls().get_params()
    if unknown := sorted(set(params) - set(defaults), key=str):
        raise ValueError(f"{name} has no parameter {unknown[0]!r:.100}; it has {', '.join(sorted(defaults))}")
    return Member(cls(**({"random_state": seed} if "random_state" in defaults else {}) | params), _columns(plain))


def _columns(plain: dict[str, Any]) -> Columns | None:
    columns = plain.get(COLUMNS)
    if columns is None:
        return None
    whole = isinstance(columns, list | tuple) and len(columns) == 2 and all(type(c) is int for c in columns)
    if not whole or not 0 <= columns[0] < columns[1]:
        raise ValueError(f"columns of {plain['model']} are {columns!r:.100}, expected [start, stop] with start < stop")
    return columns[0], columns[1]
