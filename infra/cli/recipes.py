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
    data_name: str | None = None,
    options: list[str] | None = None,
) -> "Recipe":
    """Loads a preset or file and applies the options: `settings` are pairs of --set, `more` and those of --option,
    which the reader takes, beat them.

    Data that is not there, or cannot be read as it was told, is noticed here, before any server is started.
    """
    from flows.recipes import load_recipe
    from infra.cli.values import parse_pairs

    overrides: dict[str, Any] = {**parse_pairs(settings), **(more or {}), **reader_settings(options)}
    if data is not None:
        overrides |= _sources(data, without)
    if skip_bad_rows:
        overrides["data.skip_bad_rows"] = True
    if data_name is not None:
        overrides["data.name"] = data_name
    recipe = load_recipe(name, overrides)
    _look_at_data(recipe)
    return recipe


def reader_settings(options: list[str] | None) -> dict[str, Any]:
    """Settings of a recipe that the pairs of --option stand for."""
    from infra.cli.values import parse_pairs

    return {f"data.options.{name}": value for name, value in parse_pairs(options).items()}


def settled_source(data: str, *, must_exist: bool = True) -> str:
    """The source as another process of this machine finds it; ValueError where there is none, though it must be."""
    from tagcore.readers.web.urls import is_url
    from tasks.data_settings import DataSettings

    if is_url(data) or DataSettings(source=data).made_up:
        return data
    path = Path(data).expanduser().absolute()
    if must_exist and not path.exists():
        raise ValueError(f"{data}: no such file or folder")
    return str(path)


def usual_preset(data: str | None) -> str:
    """The preset that `run` follows where none is named: by what the data is, which is looked at."""
    from tagcore.readers.ratings import holds_ratings

    if data is None:
        return "demo"
    return "ratings" if holds_ratings(data) else "nightly"


def _look_at_data(recipe: "Recipe") -> None:
    """Opens every source of the recipe, without reading on."""
    from tagcore.readers import open_source
    from tagcore.readers.ratings import RatingsSource, holds_ratings
    from tagcore.readers.web.urls import canonical_url, is_url
    from tasks.crawl.night import is_url_list, read_url_list

    sources = {point.data.sources: point.data for point in recipe.expand() if not point.data.made_up}
    if recipe.data.name is not None and len(sources) > 1:
        raise ValueError(f"data.name = {recipe.data.name!r} for {len(sources)} data sets, expected one to be named")
    for data in sources.values():
        for source in (data.only_source,) if data.kind == "ratings" else data.sources:
            if data.kind == "ratings":
                RatingsSource(source, **data.options)
            elif is_url(source):
                canonical_url(source)
            elif is_url_list(Path(source)):
                read_url_list(Path(source))
            elif holds_ratings(source):
                raise ValueError(
                    f"{source}: holds ratings, and {recipe.name} learns from documents: take --recipe ratings, or a "
                    'recipe with data.kind = "ratings"'
                )
            else:
                _require_more_than_a_name(source)
                open_source(source, **data.options)


def _require_more_than_a_name(source: str) -> None:
    """Tells whoever names a known data set alone how it is read and where it is had."""
    from tagcore.readers.known_sets import is_known, where_to_get

    if is_known(source) and not Path(source).exists():
        raise ValueError(
            f"{source}: no file or folder, but a known data set; `tagflow ingest {source} --from FOLDER-OR-FILE` reads "
            f"it.{where_to_get(source)}"
        )


def _sources(data: str, without: Sequence[str]) -> dict[str, Any]:
    """One source; or, of a folder that is none itself but holds known sets, all of them as a grid."""
    from tagcore.readers.cards import data_sets, known_cards

    folder = Path(data)
    if folder.is_dir() and not any(card.find(folder) for card in known_cards()) and (known := data_sets(folder)):
        return {"grid": {"data.source": [s for s in known if re.split("[/:]", s)[-1] not in without]}}
    return {"data.source": data}
