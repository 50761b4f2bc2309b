"""`tagflow ingest`: documents and tags into a stored corpus."""

from typing import Annotated

import typer

from infra.cli.console import Console
from infra.cli.options import HomeOption, JsonOption, NameOption, SkipOption
from infra.cli.recipes import recipe_from_options


def ingest(
    data: Annotated[str, typer.Argument(help="A file or folder to read.")],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", help="An option of the reader, such as text=body. Repeatable."),
    ] = None,
    name: NameOption = None,
    skip_bad_rows: SkipOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read documents and tags into a stored corpus, and say what is in it."""
    from infra.cli.values import parse_pairs

    console = Console(as_json)
    options = {f"data.options.{key}": value for key, value in parse_pairs(option).items()}
    recipe = recipe_from_options("nightly", data, None, skip_bad_rows, options, data_name=name)
    with console.session(home):
        from flows.stages import ingest as read_corpus
        from tasks.workspace import open_workspace

        folder = read_corpus(recipe, open_workspace())
    from tagcore.store.datasets import read_manifest

    counts = read_manifest(folder, "corpus")["counts"]
    if as_json:
        console.result({"corpus": folder, "counts": counts})
    else:
        print(f"{folder}: " + ", ".join(f"{n:,} {name}" for name, n in counts.items()))
