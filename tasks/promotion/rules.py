"""Which model challenges, and whether it is better than the one in service: the rule that a recipe chooses.

Its names and limits: `PromotionSettings` of `tasks/recipe_settings.py`; what must hold besides: `tagger_guards.py`.
"""

from dataclasses import dataclass

import numpy as np

from tagcore.metrics.catalogue import signed
from tagcore.metrics.evaluation import Evaluation
from tagcore.metrics.intervals import PairedTest, paired_difference
from tasks.evaluate import EvaluatedModel, signed_value
from tasks.recipe_settings import PromotionSettings

CALIBRATION = "ECE"


@dataclass(frozen=True)
class Verdict:
    """Whether the rule lets a challenger pass, and why."""

    passed: bool
    reason: str
    test: PairedTest | None = None


def choose_challenger(models: list[EvaluatedModel], measure: str) -> tuple[EvaluatedModel, str]:
    """Picks the model with the best value of the measure; of those that its paired interval does not tell from the
    best, the better calibrated, and of equals the first. Tells why, where another has the best value."""
    best = max(models, key=lambda model: signed_value(model.evaluation, measure))
    ours = _values(best, measure)
    tied = [m for m in models if m is best or _is_tied(_values(m, measure), ours)]
    chosen = min(tied, key=lambda model: (_calibration_error(model), model is not best))
    return chosen, "" if chosen is best else _why_not_best(chosen, best, measure)


def corrected_level(level: float, candidates: int) -> float:
    """Raises the level of the interval for having chosen: the best of several on these documents is partly the
    luckiest, so each comparison is held to its share of the error (Bonferroni)."""
    return 1 - (1 - level) / candidates


def beats_champion(
    ours: np.ndarray,
    theirs: np.ndarray,
    measure: str,
    settings: PromotionSettings,
    candidates: int,
    able: str = "",
    units: str = "documents",
) -> Verdict:
    """Applies the recipe's rule; `able` tells what the challenger can do that the champion cannot.

    By "better" the whole interval of the gain, which is a loss where less is better, must lie above the margin. By
    "able" that is enough, too; else it must lie above minus the tolerance, and the challenger be able to do more.
    """
    level = corrected_level(settings.level, candidates)
    test = paired_difference(ours, theirs, level=level)
    gain = min(signed(measure, test.low), signed(measure, test.high))
    told = _told(test, measure, units)
    if gain > settings.margin:
        return Verdict(True, f"better beyond the {level:.1%} interval: {told}", test)
    if settings.rule == "better":
        return Verdict(False, f"not better beyond the {level:.1%} interval: {told}", test)
    not_worse = gain > -settings.tolerance
    if not_worse and able:
        return Verdict(True, f"not worse by more than {settings.tolerance:g}, and {able}: {told}", test)
    missing = (
        "it can do nothing that the champion cannot" if not_worse else f"it may lose more than {settings.tolerance:g}"
    )
    return Verdict(False, f"not better beyond the {level:.1%} interval, and {missing}: {told}", test)


def above_floor(
    ours: np.ndarray, floor: np.ndarray, measure: str, level: float, baseline: str, units: str = "documents"
) -> Verdict:
    """Whether a model that nothing in service is compared with is better than the plainest baseline at all."""
    test = paired_difference(ours, floor, level=level)
    passed = min(signed(measure, test.low), signed(measure, test.high)) > 0
    told = _told(test, measure, units)
    return Verdict(passed, f"{'better' if passed else 'no better'} than {baseline}: {told}", test)


def _why_not_best(chosen: EvaluatedModel, best: EvaluatedModel, measure: str) -> str:
    test = paired_difference(_values(best, measure), _values(chosen, measure))
    errors = " to ".join(f"{_calibration_error(model):.3f}" for model in (chosen, best))
    better = f"its probabilities hold better ({CALIBRATION} {errors}) than those of {best.label}"
    return f"{chosen.label} challenges because {better}, whose lead is not proven: {_told(test, measure, 'rows')}"


def _told(test: PairedTest, measure: str, units: str) -> str:
    return f"{measure} {test.difference:+.4f} ({test.low:+.4f} to {test.high:+.4f}) on {test.n:,} {units}"


def _values(model: EvaluatedModel, measure: str) -> np.ndarray:
    return Evaluation.load(model.evaluation).per_unit[measure].to_numpy()


def _is_tied(a: np.ndarray, b: np.ndarray) -> bool:
    test = paired_difference(a, b)
    return bool(np.isnan(test.low) or test.low <= 0 <= test.high)


def _calibration_error(model: EvaluatedModel) -> float:
    summary = Evaluation.load(model.evaluation).summary
    return summary[CALIBRATION].value if CALIBRATION in summary else 0.0
