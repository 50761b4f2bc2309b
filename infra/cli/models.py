"""`tagflow models`, `promote`, `rollback`: what is in service, and moves by hand."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.console import Console
from infra.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from tasks.registry.client import Registry


def models(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """What is in service: which version, since when, how good, made from what, and why."""
    from tasks.registry.in_service import models_in_service

    found = models_in_service(_registry(home))
    console = Console(as_json)
    if as_json:
        console.result({"models": [vars(one) for one in found]})
        return
    if not found:
        print("no model is registered yet: `tagflow run`")
    for one in found:
        if one.version is None:
            print(f"{one.name}: nothing in service, {one.versions} version{'' if one.versions == 1 else 's'}")
            continue
        since = f", since {one.since}" if one.since else ""
        print(f"{one.name}: version {one.version} of {one.versions}, {one.label}{since}")
        print(f"  {one.quality}\n  made from {one.data}\n  {one.why}")


def promote(
    model: Annotated[str, typer.Argument(help="The registered name, as `tagflow models` tells it.")],
    version: Annotated[int, typer.Argument(help="The version to put into service.", min=1)],
    home: HomeOption = None,
) -> None:
    """Put a version into service by hand, whatever the rule said. `rollback` undoes it."""
    from tasks.registry.in_service import promote_by_hand

    promote_by_hand(_registry(home), model, str(version))
    print(f"{model}: version {version} is in service")


def rollback(
    model: Annotated[str | None, typer.Argument(help="The registered name; not needed where there is one.")] = None,
    home: HomeOption = None,
) -> None:
    """Put the version that was in service before back into service; again, the one before that."""
    from tasks.registry.client import champions
    from tasks.registry.in_service import roll_back

    registry = _registry(home)
    if model is None:
        names = champions(registry)
        if len(names) != 1:
            raise ValueError(
                f"say which model: {', '.join(names)}" if names else "no model is in service yet: `tagflow run`"
            )
        (model,) = names
    left, now = roll_back(registry, model)
    print(f"{model}: back from version {left} to version {now}")


def _registry(home: Path | None) -> "Registry":
    from tasks.registry.client import require_reachable
    from tasks.workspace import open_workspace

    workspace = open_workspace(home=home)
    if workspace.settings.mlflow is None and not workspace.settings.state.is_dir():
        raise ValueError(f"{workspace.settings.state}: no state folder, so no model is registered yet: `tagflow run`")
    require_reachable(workspace.registry)  # MLflow itself tries for minutes
    return workspace.registry
