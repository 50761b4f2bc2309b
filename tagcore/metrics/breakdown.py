"""Popular against rare tags: quality by how often tags were trained on."""

import numpy as np
import pyarrow as pa

from tagcore.metrics.label_quality import LabelCounts, Quality

GROUPS = ("head", "torso", "tail")
UNSEEN = "unseen"  # in no training document
SCHEMA = pa.schema(
    [("group", pa.string())]
    + [(name, pa.int64()) for name in ("tags", "tags_in_test", "lowest", "highest", "trained", "tested", "predicted")]
    + [(f"{average}_{name}", pa.float64()) for average in ("micro", "macro") for name in Quality._fields]
)


def frequency_groups(train_counts: np.ndarray) -> np.ndarray:
    """Groups tags by training counts: 0 head, 1 torso, 2 tail, about a third of all taggings each; 3 never trained on.

    A tag's group is decided by the share of taggings with more frequent tags, so equal counts stay together.
    """
    counts = np.asarray(train_counts, np.int64)
    if counts.ndim != 1 or (counts < 0).any():
        raise ValueError("train_counts must be one count per tag, none of them negative")
    values, value_of, times = np.unique(counts, return_inverse=True, return_counts=True)
    taggings = values * times
    above = taggings.sum() - np.cumsum(taggings)  # with tags of higher counts, per value
    group = above * len(GROUPS) // max(int(taggings.sum()), 1)  # whole numbers: a third is met exactly
    group[values == 0] = len(GROUPS)
    return group[value_of]


def breakdown_table(counts: LabelCounts, train_counts: np.ndarray | None) -> pa.Table:
    """Makes a table with one row per group that has tags; no row where the training counts are not known.

    `lowest` and `highest` are training counts, `trained` and `tested` are taggings. Macro means are over the tags of
    the group that are in the test set: others cannot be suggested rightly.
    """
    if train_counts is None:
        return SCHEMA.empty_table()
    train_counts = np.asarray(train_counts, np.int64)
    if train_counts.shape != counts.tp.shape:
        raise ValueError(f"train_counts has shape {train_counts.shape}, expected one for each of {len(counts.tp)} tags")
    group_of = frequency_groups(train_counts)
    rows = []
    for number, name in enumerate((*GROUPS, UNSEEN)):
        chosen = group_of == number
        if chosen.any():
            rows.append({"group": name, **_row(counts.select(chosen), train_counts[chosen])})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _row(counts: LabelCounts, train_counts: np.ndarray) -> dict[str, int | float]:
    tested = counts.tp + counts.fn
    present = counts.select(tested > 0)
    row: dict[str, int | float] = {
        "tags": tested.size,
        "tags_in_test": len(present.tp),
        "lowest": int(train_counts.min()),
        "highest": int(train_counts.max()),
        "trained": int(train_counts.sum()),
        "tested": int(tested.sum()),
        "predicted": int((counts.tp + counts.fp).sum()),
    }
    row |= {f"micro_{name}": value for name, value in counts.micro()._asdict().items()}
    if len(present.tp):
        row |= {f"macro_{name}": value for name, value in present.macro()._asdict().items()}
    return row
