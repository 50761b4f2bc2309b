"""References to values on the cluster, and the record of the files that each value was made of."""

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from distributed import Future

from tasks.cluster.values import FileValue


class File:
    """A file that someone may still need; `forget` is called when nobody does."""

    def __init__(self, value: FileValue, forget: Callable[[FileValue], None]) -> None:
        weakref.finalize(self, forget, value).atexit = False


@dataclass(eq=False)
class Lineage:
    """The files that a value was made of: its own, and those of the values that it was made of."""

    files: tuple[File, ...] = ()
    parents: tuple["Lineage", ...] = ()

    @classmethod
    def joined(cls, lineages: Iterable["Lineage"]) -> "Lineage":
        """The lineage of a value made of several; lineages that hold no file are left out, however long they are."""
        kept = tuple(lineage for lineage in lineages if lineage.files or lineage.parents)
        return kept[0] if len(kept) == 1 else cls((), kept)


@dataclass(eq=False)
class FileArgument:
    """An argument whose arrays are in a file for workers to read."""

    value: FileValue
    lineage: Lineage
    depth: int = 0


@dataclass(eq=False)
class Result:
    """A reference to what a call will return; it has a key and a future once the call was sent."""

    lineage: Lineage
    depth: int  # calls, one after the other, that it takes to make it
    key: str = ""
    future: Future | None = None
    place: str | None = None  # the file that a large value goes to, on its way to the driver

    def become(self, other: "Result") -> None:
        """Takes over the lineage and future of another result that holds the same value."""
        self.lineage, self.depth, self.key, self.future = other.lineage, other.depth, other.key, other.future


@dataclass
class Call:
    """A function and its arguments, of which some may be references."""

    function: Callable
    args: tuple
    result: weakref.ref[Result] = field(init=False)  # weak: what nobody waits for need not be made

    def promise(self) -> Result:
        """Makes the reference to what this call will return."""
        known = [a for a in self.args if isinstance(a, FileArgument | Result)]
        result = Result(Lineage.joined(a.lineage for a in known), 1 + max((a.depth for a in known), default=0))
        self.result = weakref.ref(result)
        return result

    @property
    def label(self) -> str:
        """The name of the step, for dashboards and errors."""
        step: Any = self.args[0] if self.args and callable(self.args[0]) else self.function
        return getattr(getattr(step, "func", step), "__name__", "call").strip("_")
