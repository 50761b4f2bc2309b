"""The champion moves only if the challenger is better on the same held-out documents or ratings, beyond the paired
interval.

How the challenger is chosen, held to a stricter level for having been chosen, compared and promoted is all here.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from prefect import task

from tagcore.metrics.catalogue import signed
from tagcore.metrics.evaluation import Evaluation
from tagcore.metrics.intervals import paired_difference
from tasks.cache import is_transient
from tasks.evaluate import EvaluatedModel, signed_value
from tasks.kinds import kind_of
from tasks.progress import ProgressReporter
from tasks.recipe_settings import PromotionSettings
from tasks.registry.client import CHALLENGER, CHAMPION, MODEL_KEY, Registry, RegistryBusy, version_by_alias
from tasks.registry.writer import only_writer


@dataclass(frozen=True)
class Candidate:
    """A model of this run that may be put into service, with the number of its registered version."""

    evaluated: EvaluatedModel
    version: str


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

    @property
    def in_service(self) -> str:
        """The version in service after the decision."""
        return self.challenger if self.promoted or self.champion is None else self.champion


@task(name="promote", task_run_name="promote {name}", retries=2, retry_delay_seconds=2, retry_condition_fn=is_transient)
def promote(
    name: str, candidates: list[Candidate], data: Path, measure: str, rule: PromotionSettings, registry: Registry
) -> Decision:
    """Compares the best candidate with the champion, moves the aliases, and records the decision with its numbers as
    tags of the version."""
    challenger = choose_challenger(candidates, measure)
    version, label = challenger.version, challenger.evaluated.label
    step = ProgressReporter(f"compare {name} version {version} with the model in service")
    step.tell("start")
    with only_writer(registry, name) as writer:
        client = writer.client
        client.set_registered_model_alias(name, CHALLENGER, version)
        champion = version_by_alias(client, name, CHAMPION)
        before = None if champion is None else str(champion.version)
        if before == version:
            step.tell("stands")
            return Decision(name, label, version, before, False, "it is the model in service already", measure)
        if champion is None:
            decision = Decision(name, label, version, None, True, "no model was in service", measure)
        elif champion.tags.get(MODEL_KEY) == client.get_model_version(name, version).tags.get(MODEL_KEY):
            decision = Decision(name, label, version, before, False, "it is the same model", measure)
        else:
            ours = Evaluation.load(challenger.evaluated.evaluation).per_unit[measure].to_numpy()
            kind, in_service = kind_of(challenger.evaluated.kind), registry.fetch(f"models:/{name}/{before}")
            theirs = kind.in_service.held_out_values(in_service, data, challenger.evaluated.prepared, measure)
            level = corrected_level(rule.level, len(candidates))
            units = "users" if challenger.evaluated.kind == "ratings" else "documents"
            decision = decide(name, label, version, before, ours, theirs, measure, level, rule.margin, units)
        now = version_by_alias(client, name, CHAMPION)
        if before != (None if now is None else str(now.version)):
            raise RegistryBusy(f"{name}: another run has moved {CHAMPION} meanwhile")  # to be compared with that one
        for key, value in asdict(decision).items():
            client.set_model_version_tag(name, version, f"promotion.{key}", str(value))
        if decision.promoted:
            client.set_registered_model_alias(name, CHAMPION, version)
    step.tell("made")
    return decision


def choose_challenger(candidates: list[Candidate], measure: str) -> Candidate:
    """Picks the candidate with the best value of the measure; of equals the first."""
    return max(candidates, key=lambda candidate: signed_value(candidate.evaluated.evaluation, measure))


def corrected_level(level: float, candidates: int) -> float:
    """Raises the level of the interval for having chosen: the best of several on these documents is partly the
    luckiest, so each comparison is held to its share of the error (Bonferroni)."""
    return 1 - (1 - level) / candidates


def decide(
    name: str,
    label: str,
    challenger: str,
    champion: str | None,
    ours: np.ndarray,
    theirs: np.ndarray,
    measure: str,
    level: float,
    margin: float,
    units: str = "documents",
) -> Decision:
    """Applies the rule itself: the whole interval of the gain, which is a loss where less is better, must lie above
    the margin. `units` is what the values are of."""
    test = paired_difference(ours, theirs, level=level)
    better = min(signed(measure, test.low), signed(measure, test.high)) > margin
    difference = f"{measure} {test.difference:+.4f} ({test.low:+.4f} to {test.high:+.4f}) on {test.n:,} {units}"
    reason = f"{'better' if better else 'not better'} beyond the {level:.1%} interval: {difference}"
    numbers = test.difference, test.low, test.high, test.p_value, test.n
    return Decision(name, label, challenger, champion, better, reason, measure, *numbers)
