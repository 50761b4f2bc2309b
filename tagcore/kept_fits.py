"""Fits that several trainings of one night share: the members of a blend are models of the night, too."""

import hashlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tagcore.base import Estimator, load_estimator

_WHOLE = b"all rows"


@dataclass(frozen=True)
class KeptFits:
    """Folders of fits on one set of rows, one for every kind of features that the rows have. A fit is found by model,
    parameters and the rows that it has not seen, and is the same bits as one made anew."""

    folders: tuple[Path, ...]  # the first is of the features that others stand beside, or of the only ones
    least_seconds: float = 0.3  # what is fitted in less is not worth keeping

    def of_view(self, number: int) -> "KeptFits":
        """The fits on one kind of features, those that are side by side counted from 0, for a member of a blend: it
        takes what models before it have kept and keeps nothing, as blends come last."""
        return replace(self, folders=(self.folders[number],), least_seconds=math.inf)

    def fit(self, model: Estimator, left_out: np.ndarray | None, fit: Callable[[], object]) -> None:
        """Gives the model the state of the kept fit, or calls `fit` and keeps what came of it."""
        place = self.folders[0] / self._key(model, left_out)
        if place.exists():
            kept = load_estimator(place, mapped=True)
            for name in (*model._all_arrays(), *model._all_facts()):
                setattr(model, name, getattr(kept, name))
            return
        begun = time.monotonic()
        fit()
        if time.monotonic() - begun >= self.least_seconds and not place.exists():
            try:
                model.save(place)
            except FileExistsError:  # another training was quicker: its bits are these
                return

    def _key(self, model: Estimator, left_out: np.ndarray | None) -> str:
        asked = json.dumps([type(model).__name__, model.get_params(deep=False)], sort_keys=True, default=str)
        rows = _WHOLE if left_out is None else np.packbits(left_out).tobytes()
        return hashlib.sha256(asked.encode() + rows).hexdigest()[:32]
