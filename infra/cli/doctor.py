"""`tagflow doctor`: what is installed, configured and reachable."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from infra.cli.console import Console


def doctor(
    home: Annotated[Path | None, typer.Option(help="The state folder (default .tagflow, or TAGFLOW_HOME).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Check this machine and this configuration. Exit code 1 if something would keep `tagflow run` from working."""
    from infra.checks import all_checks

    console = Console(as_json)
    found = all_checks(home)
    if as_json:
        console.result({"checks": [vars(c) for c in found]})
    else:
        marks = {"ok": "✓", "bad": "✗"}
        for check in found:
            print(f"{marks[check.state]} {check.name}: {check.found}")
    if any(c.state == "bad" for c in found):
        sys.exit(1)
