"""`tagflow ingest`: documents and tags into a stored corpus, or ratings into stored ratings."""

from dataclasses import asdict
from typing import Annotated

import typer

from infra.cli.console import Console
from infra.cli.options import HomeOption, JsonOption, NameOption, SetOption, SkipOption
from infra.cli.recipes import recipe_from_options, usual_preset


def ingest(
    data: Annotated[str, typer.Argument(help="A file or folder to read.")],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", help="An option of the reader, such as text=body. Repeatable."),
    ] = None,
    name: NameOption = None,
    set_: SetOption = None,
    skip_bad_rows: SkipOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read documents and tags into a stored corpus, or ratings into stored ratings, and say what is in it."""
    from infra.cli.values import parse_pairs

    console = Console(as_json)
    options = {f"data.options.{key}": value for key, value in parse_pairs(option).items()}
    recipe = recipe_from_options(usual_preset(data), data, set_, skip_bad_rows, options, data_name=name)
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
