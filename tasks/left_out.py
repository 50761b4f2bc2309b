"""Why a model of a recipe is left out: the data are nothing for it, and the others are measured all the same."""

from pathlib import Path

import pyarrow.parquet as pq

from tagcore.features.rows import StoredRows
from tagcore.fitting import model_class
from tagcore.tag_model import TagModel
from tasks.features import count_cells
from tasks.recipe_settings import ModelSettings


def why_left_out(model: ModelSettings, prepared: Path) -> str:
    """What speaks against learning these stored features: more words × tags than the recipe allows the model, or
    weights below zero where it takes none; nothing where nothing does."""
    if model.most_cells is not None and (cells := count_cells(prepared)) > model.most_cells:
        return f"{cells:,} words × tags, it takes {model.most_cells:,} (most_cells of the recipe)"
    if model_class(model.model, TagModel)().__sklearn_tags__().input_tags.positive_only:
        lowest = lowest_weight(prepared)
        if lowest < 0:
            return f"weights of words from {lowest:g} on, it takes none below 0"
    return ""


def lowest_weight(prepared: Path) -> float:
    """The lowest weight of the rows to learn from, or 0, as the heads of their files tell it."""
    rows, lowest = StoredRows.open(prepared, "train"), 0.0
    for name in rows.files:
        with pq.ParquetFile(prepared / name) as file:
            leaves = [file.schema.column(number).path for number in range(len(file.schema))]
            values = next(number for number, path in enumerate(leaves) if path.startswith("values."))
            for group in range(file.num_row_groups):
                told = file.metadata.row_group(group).column(values).statistics
                lowest = min(lowest, told.min if told is not None and told.has_min_max else 0.0)
    return lowest
