"""Warnings of BOMC: what is allowed, and yet seldom meant."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from tagcore.features.rows import Rows
from tagcore.models.bomc.hierarchy import Siblings
from tagcore.models.bomc.stream import stream_blocks

if TYPE_CHECKING:
    from tagcore.models.bomc.estimator import BOMC

_TELLING_ROWS = 20  # fewer may have the same tags by chance


def warn_of_flips(model: "BOMC") -> None:
    """Warns of flips on present tags: beside them a rare tag is never likelier than a mistake."""
    absent, present = model._flips
    if present > 0:
        message = (
            f"flip={model.flip!r} lets present tags be mistakes: most occurrences of a rare tag are then taken for one "
            f"and teach nothing, and rankings get worse; flip=[{absent!r}, 0] allows for wrong absent tags only"
        )
        warnings.warn(message, UserWarning, stacklevel=2)


def warn_of_rows_learnt_before(model: "BOMC", rows: Rows) -> None:
    """Warns where a fit that goes on begins with as many rows as are known, with each tag as often as it is known.

    So the same rows again, and old rows with new ones after them, are recognised without anything kept of a row.
    """
    known = model.n_seen_
    if not _TELLING_ROWS <= known <= rows.n_rows:
        return
    siblings = Siblings(model.parents, rows.n_labels)
    positives = np.zeros(rows.n_labels, np.int64)
    for block, _ in stream_blocks(known, None):
        tags = siblings.with_ancestors(rows.labels(block)).indices
        positives += np.bincount(tags, minlength=rows.n_labels)[siblings.columns]
    if np.array_equal(positives, model.positives_):
        message = (
            f"the first {known} rows have the tags of the {known} rows that this model has learnt: rows learnt twice "
            "count twice, and its variances become too small; fit the new rows only, or set warm_start=False"
        )
        warnings.warn(message, UserWarning, stacklevel=2)
