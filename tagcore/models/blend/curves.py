"""How likely a member's score makes a tag: a line of log-odds for its first tags, and a steeper or flatter one below.

The first tags are those that people look at, and few: where their scores lie close together a line through them says
nothing of other tags. The line below goes on from where it ends, as steep as makes as many tags likely as there are.
"""

import numpy as np

from tagcore.models.blend.pairs import AllTags, Pairs
from tagcore.numeric.logistic import expit
from tagcore.scoring.calibration import logistic_fit
from tagcore.tag_model import TagModel

WIDTH = 4  # numbers of a curve: slope, intercept, the score where it bends, slope below; of zeros: none was learnt
_FIRST = 5  # ranks that the upper line is learnt from
_LOW = 0.1  # share of the first scores below the bend
_LEAST_SLOPE, _STEEPEST = 1e-3, 1e6  # of lines along scores whose spread is 1: the order of tags stays
_NO_SPREAD = 1e-9  # of scores, as a share of the largest
_SURELY = 1e-6  # own probabilities nearer to 0 or 1 count as this far
_HALVINGS = 60


def fit_curves(pairs: Pairs, all_tags: AllTags, n_members: int) -> np.ndarray:
    """(members, 4) the curve of each, from documents that it has not seen; zeros where it put nothing forward."""
    curves = np.zeros((n_members, WIDTH))
    for m in range(n_members):
        first = pairs.features[:, 3 * m + 2] < np.log1p(_FIRST) - 1e-9
        if first.any():
            curves[m] = _fit_curve(pairs.features[first, 3 * m], pairs.hits[first], all_tags, m)
    return curves


def log_odds(curve: np.ndarray, model: TagModel, scores: np.ndarray) -> np.ndarray:
    """Log-odds of a member's scores by its curve, or by the model's own probabilities where it has none."""
    scores = np.asarray(scores, np.float64)
    slope, intercept, bend, slope_below = curve
    if slope == 0:
        p = np.clip(model.proba(scores), _SURELY, 1 - _SURELY)
        return np.log(p) - np.log1p(-p) + _SURELY * scores / (1 + np.abs(scores))  # the last: the order of tags stays
    return slope * scores + intercept + (slope_below - slope) * np.minimum(scores - bend, 0.0)


def fit_line(scores: np.ndarray, hits: np.ndarray) -> tuple[float, float]:
    """Slope and intercept of a score as log-odds (Platt's targets); the slope is never below a little."""
    n_hits = float(hits.sum())
    target = np.where(hits, (n_hits + 1) / (n_hits + 2), 1 / (hits.size - n_hits + 2))
    centre, scale = scores.mean(), float(scores.std())
    if scale <= _NO_SPREAD * np.abs(scores).max():
        scale = 1.0  # the intercept alone decides
    slope, intercept = logistic_fit((scores - centre) / scale, target)
    slope = max(slope, _LEAST_SLOPE) / scale
    return slope, intercept - slope * centre


def _fit_curve(scores: np.ndarray, hits: np.ndarray, all_tags: AllTags, member: int) -> tuple[float, ...]:
    """The curve of a member from the scores of its first tags, and from those of all."""
    slope, intercept = fit_line(scores, hits)
    drawn, true = all_tags.drawn[member], all_tags.true[member]
    above = scores[scores > np.median(drawn)]  # not votes of none, of which there may be some among the first
    bend = float(np.quantile(above, _LOW)) if above.size else float(scores.min())
    below = drawn < bend
    distance, weights = bend - drawn[below], all_tags.weights[below]
    if not distance.size:
        return slope, intercept, bend, slope
    wanted = np.count_nonzero(true < bend) + 1
    scale, at_bend = distance.mean(), slope * bend + intercept
    low, high = np.log(_LEAST_SLOPE), np.log(_STEEPEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if np.sum(weights * expit(at_bend - np.exp(middle) / scale * distance)) > wanted:
            low = middle
        else:
            high = middle
    return slope, intercept, bend, float(np.exp(low) / scale)
