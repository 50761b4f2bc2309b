"""A fault that is planted on purpose, and the tests that must notice it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """`right` occurs once in the file; with `wrong` in its place at least one of the tests fails."""

    name: str
    file: str
    right: str
    wrong: str
    tests: str  # paths and -k expressions for pytest, parted by blanks

    def plant(self, source: str) -> str:
        """The source with the fault; ValueError where the right text is not there exactly once."""
        if (times := source.count(self.right)) != 1:
            raise ValueError(f"{self.name}: {self.file} holds the right text {times} times, expected once")
        return source.replace(self.right, self.wrong)
