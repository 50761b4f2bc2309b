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
    several_sets: bool = False,
    usual: dict[str, dict[str, Any]] | None = None,
    look: bool = True,
) -> "Recipe":
    """Loads a preset or file and applies the options: `settings` are pairs of --set, `more` and those of --option,
    which the reader takes, beat them; all beat the `usual` groups of settings, for a recipe that has none of its own.

    A folder of known sets is refused but where a command compares and takes `several_sets`: these are varied beside the
    recipe's own grid, but for those named by `without`. Data that is not there, or cannot be read as it was told, is
    noticed here, before any server is started, unless the command is to `look` itself.
    """
    from flows.recipes import load_recipe
    from infra.cli.values import parse_pairs

    overrides: dict[str, Any] = {**parse_pairs(settings), **(more or {}), **reader_settings(options)}
    sets = [] if data is None else _sets_below(data)
    if sets and not several_sets:
        raise ValueError(f"{data}: a folder of known data sets, expected one of them: {', '.join(sets)}")
    compared = _without(sets, without, data)
    if data is not None and not sets:
        overrides["data.source"] = data
    if skip_bad_rows:
        overrides["data.skip_bad_rows"] = True
    if data_name is not None:
        overrides["data.name"] = data_name
    recipe = load_recipe(name, overrides, usual)
    if compared:
        own = {path: values for path, values in recipe.grid.items() if path != "data.source"}
        recipe = recipe.model_copy(update={"grid": {"data.source": compared, **own}})
    if look:
        look_at_data(recipe)
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


def look_at_data(recipe: "Recipe") -> None:
    """Opens every source of the recipe, without reading on."""
    from tagcore.readers import open_source
    from tagcore.readers.ratings import RatingsSource, holds_ratings
    from tagcore.readers.web.urls import canonical_url, is_url
    from tasks.crawl.crawl_run import is_url_list, read_url_list

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


def _sets_below(data: str) -> list[str]:
    """The known sets of a folder that is none itself; none for all other data."""
    from tagcore.readers.cards import data_sets, known_cards

    folder = Path(data)
    if not folder.is_dir() or any(card.find(folder) for card in known_cards()):
        return []
    return data_sets(folder)


def _without(sets: list[str], names: Sequence[str], data: str | None) -> list[str]:
    """The sets but for those named; ValueError for a name that none of them has, and where none is left."""
    called = {one: re.split("[/:]", one)[-1] for one in sets}
    if names and not sets:
        raise ValueError(f"--without {names[0]}: expected --data with a folder of known data sets, got {data}")
    if unknown := [name for name in names if name not in called.values()]:
        raise ValueError(f"--without {unknown[0]}: {data} has no such set; there are {', '.join(called.values())}")
    kept = [one for one in sets if called[one] not in names]
    if sets and not kept:
        raise ValueError(f"--without leaves out every data set of {data}: {', '.join(called.values())}")
    return kept
