"""From what a person typed to a recipe."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks.recipe import Recipe


def recipe_from_options(
    name: str,
    data: str | None,
    settings: list[str] | None,
    skip_bad_rows: bool,
    more: dict[str, Any] | None = None,
    without: Sequence[str] = (),
) -> "Recipe":
    """Loads a preset or file and applies the options: `settings` are pairs of --set, `more` beats them."""
    from flows.recipes import load_recipe
    from infra.cli.values import parse_pairs

    overrides: dict[str, Any] = {**parse_pairs(settings), **(more or {})}
    if data is not None:
        overrides |= _sources(data, without)
    if skip_bad_rows:
        overrides["data.skip_bad_rows"] = True
    return load_recipe(name, overrides)


def _sources(data: str, without: Sequence[str]) -> dict[str, Any]:
    """One source; or, of a folder that is none itself but holds known sets, all of them as a grid."""
    from tagcore.readers.cards import data_sets, known_cards

    folder = Path(data)
    if folder.is_dir() and not any(card.find(folder) for card in known_cards()) and (known := data_sets(folder)):
        return {"grid": {"data.source": [s for s in known if re.split("[/:]", s)[-1] not in without]}}
    return {"data.source": data}
