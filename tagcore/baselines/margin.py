"""Models whose score is a signed distance from a boundary, as scikit-learn's linear ones give it."""

from typing import Any, ClassVar

import numpy as np

from tagcore.tag_model import TagModel


class MarginModel(TagModel, abstract=True):
    """A model of one boundary per tag; `_boundary` is the score there, beyond which `predict` gives the tag."""

    _boundary: ClassVar[float] = 0.0

    def decision_function(self, X: Any) -> np.ndarray:
        """Dense (n, L), above 0 where `predict` gives the tag, and the further the surer; where L is large use `top_k`.

        >>> from tagcore.baselines import OneVsRestLinear
        >>> model = OneVsRestLinear().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]])
        >>> model.decision_function([[2.0, 0.0]]) > 0
        array([[ True, False]])
        """
        return self._scores(self._checked(X)) - self._boundary
