"""`tagflow ingest`: documents and tags into a stored corpus, or ratings into stored ratings."""

from dataclasses import asdict
from typing import Annotated

import typer

from infra.cli.console import Console
from infra.cli.options import HomeOption, JsonOption, NameOption, SetOption, SkipOption
from infra.cli.recipes import recipe_from_options, usual_preset


def ingest(
    data: Annotated[
        list[str],
        typer.Argument(help="Files, folders, addresses of feeds, sitemaps or sites, or lists of addresses."),
    ],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", help="An option of the reader, such as text=body. Repeatable."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="The format of the files, where it is not to be told by looking at them.")
    ] = None,
    allow_local: Annotated[
        bool, typer.Option("--allow-local", help="The addresses may be of this machine or of its own network.")
    ] = False,
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
    from infra.cli.values import parse_pairs

    console = Console(as_json)
    settings = {f"data.options.{key}": value for key, value in parse_pairs(option).items()}
    if format is not None:
        settings["data.options.format"] = format
    settings |= {f"data.{key}": True for key, wanted in (("local", allow_local), ("fetch", fetch)) if wanted}
    if len(data) > 1:
        settings["data.source"] = data
    only = data[0] if len(data) == 1 else None
    recipe = recipe_from_options(usual_preset(data[0]), only, set_, skip_bad_rows, settings, data_name=name)
    with console.session(home):
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
        print(f"{folder}: " + ", ".join(f"{n:,} {name}" for name, n in counts.items()))
