"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        "-d",
        help="A file, folder or address: JSON lines, CSV, ARFF, svmlight, WARC, ratings and more; or `demo`.",
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option(
        "--name", help="What the data is called in registered models and reports (default: its file, without a date)."
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        help="Where models are trained: none (this process), local:N (N worker processes), the address of a Dask "
        "scheduler (tcp://… or tls://…), kubernetes:NAME. The result is the same. Default: TAGFLOW_CLUSTER, else none."
    ),
]
HomeOption = Annotated[Path | None, typer.Option(help="The state folder (default .tagflow, or TAGFLOW_HOME).")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ReaderOption = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", help="An option of the reader, such as text=body. Repeatable."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="A setting of the recipe, such as features.stem=english. Repeatable."),
]
SkipOption = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave out rows that cannot be read, and list them in rejected.jsonl.")
]
