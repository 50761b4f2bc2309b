"""`tagflow ingest`: documents and tags into a stored corpus, or ratings into stored ratings."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infra.cli.console import Console
from infra.cli.options import HomeOption, JsonOption, NameOption, ReaderOption, SetOption, SkipOption
from infra.cli.recipes import recipe_from_options, usual_preset

if TYPE_CHECKING:
    from tasks.recipe import Recipe


def ingest(
    data: Annotated[
        list[str],
        typer.Argument(help="Files, folders, addresses of feeds, sitemaps or sites, or lists of addresses."),
    ],
    option: ReaderOption = None,
    format: Annotated[
        str | None, typer.Option(help="The format of the files, where it is not to be told by looking at them.")
    ] = None,
    allow_local: Annotated[
        bool, typer.Option("--allow-local", help="The addresses may be of this machine or of its own network.")
    ] = False,
    from_: Annotated[
        str | None,
        typer.Option("--from", help="The folder or file of the known data set that is named; checked by its card."),
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Fetch the pages that the files name, such as exported bookmarks.")
    ] = False,
    name: NameOption = None,
    set_: SetOption = None,
    skip_bad_rows: SkipOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read documents and tags, or ratings, from files or from the web into a stored corpus, and say what is in it."""
    console = Console(as_json)
    preset = None
    if from_ is not None:
        data, preset = _known_set(data, from_)
    settings: dict[str, Any] = {} if format is None else {"data.options.format": format}
    settings |= {f"data.{key}": True for key, wanted in (("local", allow_local), ("fetch", fetch)) if wanted}
    if len(data) > 1:
        settings["data.source"] = data
    only = data[0] if len(data) == 1 else None
    recipe = recipe_from_options(
        preset or usual_preset(data[0]), only, set_, skip_bad_rows, settings, data_name=name, options=option
    )
    for line in _recognised(recipe):
        console.say(line)
    with console.session(home, "none"):  # nothing is trained
        from flows.stages import ingest as read_corpus
        from tasks.workspace import open_workspace

        folder = read_corpus(recipe, open_workspace())
    from tagcore.store.datasets import read_manifest

    kind = "corpus" if recipe.data.kind == "documents" else "ratings"
    counts = read_manifest(folder, kind)["counts"]
    if kind == "ratings":
        from tagcore.features.rating_statistics import RatingStatistics

        statistics = RatingStatistics.of_folder(folder)
        if as_json:
            console.result({"ratings": folder, "counts": counts, "statistics": asdict(statistics)})
        else:
            print(f"{folder}\n\n{statistics.markdown()}", end="")
    elif as_json:
        console.result({"corpus": folder, "counts": counts})
    else:
        told = (f"{n:,} {name if n != 1 else name.removesuffix('s')}" for name, n in counts.items())
        print(f"{folder}: {', '.join(told)}")


def _known_set(named: list[str], place: str) -> tuple[list[str], str]:
    """The data set of this name in a folder or file, as sources, and the preset for such data."""
    from tagcore.readers.known_sets import card_named, find_set
    from tagcore.readers.ratings.cards import RatingCard

    if len(named) != 1:
        raise ValueError(f"--from {place}: {len(named)} names before it, expected that of one known data set")
    source = find_set(named[0], place)
    return [source], "ratings" if isinstance(card_named(named[0]), RatingCard) else usual_preset(source)


def _recognised(recipe: "Recipe") -> Iterator[str]:
    """Tells what the files of the source were found to be."""
    from tagcore.readers import open_source
    from tagcore.readers.web.urls import is_url
    from tasks.crawl.crawl_run import is_url_list

    for source in recipe.data.sources if recipe.data.kind == "documents" and not recipe.data.made_up else ():
        if is_url(source):
            yield f"{source}: an address, to be crawled"
        elif is_url_list(Path(source)):
            yield f"{source}: a list of addresses, to be crawled"
        else:
            found = open_source(source, **recipe.data.options)
            files = "one file" if len(found.files) == 1 else f"{len(found.files)} files"
            known = f"; the known set {found.card.name}: {found.card.title}; {found.card.terms}" if found.card else ""
            yield f"{source}: format {found.format}, {files}{known}"
