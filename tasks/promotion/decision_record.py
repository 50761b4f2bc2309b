"""What is told of a decision about a challenger, and the guards' rows. It is made in `rules.py` and `promote.py`."""

from dataclasses import asdict, dataclass, field

from tasks.evaluate import EvaluatedModel

_OF_THE_VERSION = ("name", "model", "challenger", "guards")  # which the version tells elsewhere


@dataclass(frozen=True)
class Candidate:
    """A model of this run that may be put into service, with the number of its registered version."""

    evaluated: EvaluatedModel
    version: str
    chosen_from: int = 1  # of so many models
    why: str = ""  # it was chosen, where another had the best value


@dataclass(frozen=True)
class Guard:
    """One thing that must hold before a model goes into service, with what was found."""

    name: str
    passed: bool
    found: str
    needed: str

    @property
    def told(self) -> str:
        """The row as one line."""
        return f"{'passed' if self.passed else 'refused'}: {self.found}; needed: {self.needed}"


@dataclass(frozen=True)
class Decision:
    """What was decided about a challenger, and the numbers that decided it."""

    name: str
    model: str  # the challenger's label
    challenger: str
    champion: str | None  # the version in service before
    promoted: bool
    reason: str
    measure: str
    difference: float | None = None  # the challenger's value less the champion's, as are the bounds
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    compared_on: int | None = None  # documents, or users
    guards: list[Guard] = field(default_factory=list)

    @property
    def in_service(self) -> str | None:
        """The version in service after the decision."""
        return self.challenger if self.promoted else self.champion

    @property
    def is_refusal(self) -> bool:
        """Whether a model that is new was kept out of service."""
        return not self.promoted and (self.difference is not None or bool(self.guards))

    @property
    def tags(self) -> dict[str, str]:
        """What the version is told of the decision: every number that there is, and every guard as a line."""
        told = {key: value for key, value in asdict(self).items() if key not in _OF_THE_VERSION and value is not None}
        plain = {f"promotion.{key}": str(value) for key, value in told.items()}
        return plain | {f"guard.{guard.name}": guard.told for guard in self.guards}

    @property
    def verdict(self) -> str:
        """What became of the challenger."""
        return "put into service" if self.promoted else "not put into service"

    def markdown(self) -> str:
        """The decision as a page of its own."""
        head = f"# {self.name} version {self.challenger} ({self.model}): {self.verdict}\n\n{self.reason}.\n"
        if not self.guards:
            return head
        rows = [
            f"| {g.name} | {'passed' if g.passed else '**refused**'} | {g.found} | {g.needed} |" for g in self.guards
        ]
        return "\n".join([head, "| guard | outcome | found | needed |", "|---|---|---|---|", *rows]) + "\n"
