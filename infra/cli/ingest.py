"""`tagflow ingest`: documents and tags into a stored corpus."""

from typing import Annotated

import typer

from infra.cli.console import Console
from infra.cli.options import HomeOption, JsonOption, SkipOption
from infra.cli.recipes import recipe_from_options


def ingest(
    data: Annotated[str, typer.Argument(help="A file or folder to read.")],
    skip_bad_rows: SkipOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read documents and tags into a stored corpus, and say what is in it."""
    console = Console(as_json)
    recipe = recipe_from_options("nightly", data, None, skip_bad_rows)
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
