"""The labelling rules, each named once in `RULES`: how a tagger's scores become labels.

To add a rule, add an entry: evaluations, recipes, tuning and reports ask here. A rule works in two steps. `settle`
finds, over all rows, what scores are compared with; `choose` then labels block by block, wherever the rows are: n × L
is never formed. A stored tagger, which is asked about single documents, labels by its thresholds or one half:
`Tagger.label_rows`. What a rule may look at beside scores is in `RuleInputs`, which `evaluate_rules` fills
(`tagcore/metrics/rule_quality.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tagcore.labelling.best_rows import best_rows, checked_rates
from tagcore.labelling.expected_f import ExpectedF
from tagcore.scoring.blocks import PartitionedScores, ScorePart
from tagcore.shards import Arrays

Needs = Literal["nothing", "thresholds", "posterior", "training rates"]


@dataclass(frozen=True, eq=False)
class RuleInputs:
    """What a labelling rule may need before it labels: the scores of all rows, and facts about tagger and training."""

    scores: PartitionedScores
    model: Any = None
    thresholds: np.ndarray | None = None  # one per label, stored with the tagger
    rates: np.ndarray | None = None  # every label's share of the training rows

    @cached_property
    def expected_f(self) -> ExpectedF | None:
        """Counts of samples of the model's posterior; None where it has none."""
        count_samples = getattr(self.model, "expected_f", None)
        return None if count_samples is None else count_samples(self.scores)


@dataclass(frozen=True)
class LabellingRule:
    """One way from scores to labels."""

    name: str
    needs: Needs  # of the tagger or the training data; who lacks it cannot follow the rule
    settle: Callable[[RuleInputs], Arrays | None]  # None where the rule cannot be followed
    # (part, the part's row that a block begins at, scores of the block, what was settled) -> bool (rows, L)
    choose: Callable[[ScorePart, int, np.ndarray, Arrays], np.ndarray]


def _no_limits(inputs: RuleInputs) -> Arrays:
    return {}


def _more_likely_than_not(part: ScorePart, first: int, scores: np.ndarray, settled: Arrays) -> np.ndarray:
    return part.scorer.proba(scores) > 0.5


def _class_mass(inputs: RuleInputs) -> Arrays | None:
    """Class-mass normalisation: label c goes to its round(rate_c · n) best rows, ties to the lower row.

    The worst of these rows tells them all: they score higher, or as high and come no later.
    """
    if inputs.rates is None:
        return None
    n_rows = inputs.scores.shape[0]
    counts = np.rint(checked_rates(inputs.rates) * n_rows).astype(np.int64)
    limits, last_rows = best_rows(inputs.scores, counts, n_rows).last()
    return {"limits": limits, "last_rows": last_rows}


def _down_to_last_row(part: ScorePart, first: int, scores: np.ndarray, settled: Arrays) -> np.ndarray:
    rows = part.first + first + np.arange(len(scores))[:, None]
    return (scores > settled["limits"]) | ((scores == settled["limits"]) & (rows <= settled["last_rows"]))


def _stored_thresholds(inputs: RuleInputs) -> Arrays | None:
    return None if inputs.thresholds is None else {"limits": inputs.thresholds}


def _thresholds_of_best_expected_f(inputs: RuleInputs) -> Arrays | None:
    return None if inputs.expected_f is None else {"limits": inputs.expected_f.best()}


def _above_limits(part: ScorePart, first: int, scores: np.ndarray, settled: Arrays) -> np.ndarray:
    return scores > settled["limits"]


RULES: tuple[LabellingRule, ...] = (
    LabellingRule("half", "nothing", _no_limits, _more_likely_than_not),
    LabellingRule("class-mass", "training rates", _class_mass, _down_to_last_row),
    LabellingRule("thresholds", "thresholds", _stored_thresholds, _above_limits),
    LabellingRule("sampled", "posterior", _thresholds_of_best_expected_f, _above_limits),
)


def rule_names() -> tuple[str, ...]:
    """The names of all rules, in the order in which tables show them."""
    return tuple(rule.name for rule in RULES)


def rule_named(name: str) -> LabellingRule:
    """Gives the rule of that name; ValueError where there is none."""
    for rule in RULES:
        if rule.name == name:
            return rule
    raise ValueError(f"no labelling rule {name!r}; there are {', '.join(rule_names())}")
