"""The guard: which of the members, the curve and the curve with trees serves, judged on documents that none has seen.

Members have not seen the fold that they score. Each part of a fold judges a combiner that learnt from its other parts
alone, so no label of a judging document has reached what it judges: neither members, nor counts of tags, nor combiner.
Combiners of other folds would not do: their members have learnt from the judging documents.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.features.folds import part_numbers
from tagcore.models.blend.combiner import fit_combiner
from tagcore.models.blend.pairs import Pairs
from tagcore.models.blend.quality import ndcg_of_pairs

THE_BLEND = -1  # what serves, where no member does
WITH_TREES, CURVE = 0, 1  # candidates; members follow
_K = 5


@dataclass(frozen=True, eq=False)
class Choice:
    """What the guard decided, and the mean nDCG@5 of each candidate that it saw."""

    serving: int  # the number of a member, or THE_BLEND
    with_trees: bool
    quality: np.ndarray  # of the curve with trees, of the curve alone, of every member


def choose(pairs: Pairs, folds: np.ndarray, Y: sp.csr_matrix, n_members: int, n_trees: int, seed: int) -> Choice:
    """Takes the best member, unless the curve is better than it by more than a standard error of the difference, and
    the curve with trees than that: of what is level the simplest serves."""
    parts = part_numbers(folds, seed)
    judged, all_with_trees = [], True
    for part in np.unique(parts[pairs.rows]):
        judging = parts == part
        trial = fit_combiner(pairs.of_rows((folds == folds[judging][0]) & ~judging), n_members, n_trees, seed)
        unseen = pairs.of_rows(judging)
        curve = trial.without_trees()(unseen.features, n_members)
        both = trial(unseen.features, n_members) if trial.has_trees else curve
        members = [np.ascontiguousarray(unseen.features[:, 3 * m]) for m in range(n_members)]
        judged.append(np.array([ndcg_of_pairs(scores, unseen, Y, _K) for scores in (both, curve, *members)]))
        all_with_trees &= trial.has_trees
    quality = np.concatenate(judged, axis=1)
    means = quality.mean(axis=1)
    taken = CURVE + 1 + int(np.argmax(means[CURVE + 1 :]))
    for stack in (CURVE, WITH_TREES) if all_with_trees else (CURVE,):
        if _surely_better(quality[stack] - quality[taken]):
            taken = stack
    serving = taken - CURVE - 1 if taken > CURVE else THE_BLEND
    return Choice(serving, taken == WITH_TREES, means)


def _surely_better(gains: np.ndarray) -> bool:
    return gains.size > 1 and bool(gains.mean() > gains.std(ddof=1) / np.sqrt(gains.size))
