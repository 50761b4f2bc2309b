"""What came of classifying held-out rows: who was right, how sure it was, what it cost."""

from dataclasses import dataclass

import numpy as np

_LEAST = np.finfo(np.float64).eps  # a class that was called impossible: as in scikit-learn's log loss


@dataclass(frozen=True, eq=False)
class ClassOutcomes:
    """Outcomes of held-out rows, and what is known of the model as a whole."""

    right: np.ndarray
    true_proba: np.ndarray  # the probability that each row's own class was given
    log_evidence: float  # of the training rows; NaN where the model has none
    train_seconds: float  # of the processor; NaN where it is not known
    test_seconds: float

    def error(self) -> np.ndarray:
        """100 for every row of which another class was predicted."""
        return np.where(self.right, 0.0, 100.0)

    def log_loss(self) -> np.ndarray:
        return -np.log(np.maximum(self.true_proba, _LEAST))
