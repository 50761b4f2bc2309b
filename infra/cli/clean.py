"""`tagflow clean`: removes what is old and nothing in service needs."""

from typing import Annotated

import typer

from infra.cli.console import Console
from infra.cli.options import HomeOption, JsonOption


def clean(
    older_than: Annotated[str, typer.Option(help="How long things stay: 30d, 12h, 4w.")] = "30d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would go, and remove nothing.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove old results, versions, runs, reports and crawled pages.

    Never a champion or a challenger, what it was made from, or the version that `tagflow rollback` leads to.
    """
    from tasks.registry.client import require_reachable
    from tasks.retention import clean as remove
    from tasks.retention import seconds_of
    from tasks.workspace import open_workspace

    seconds, workspace = seconds_of(older_than), open_workspace(home=home)
    if workspace.settings.mlflow is None and not workspace.settings.database.exists():
        raise ValueError(f"{workspace.settings.state}: holds no registry yet, so there is nothing to clean")
    require_reachable(workspace.registry)
    expired = remove(workspace, seconds, dry_run)
    console = Console(as_json)
    if as_json:
        console.result({"dry_run": dry_run, "expired": [vars(one) for one in expired]})
        return
    for one in expired:
        print(f"{one.kind:8} {one.name:40} {one.bytes / 1e6:10,.1f} MB {one.age_days:8.1f} days")
    total = sum(one.bytes for one in expired) / 1e6
    print(f"{len(expired):,} things, {total:,.1f} MB{' would go' if dry_run else ' went'}")
