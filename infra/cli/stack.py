"""`tagflow up`, `down`, `status`, `open`, `logs`: the local processes that stay between runs."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.console import Console
from infra.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from infra.stack.part import PartState


def up(
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", help="What the schedules read (default: as before; none: paused)."),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Dask workers (default: one for every core; 0: no Dask).")] = None,
    prefect_port: Annotated[int | None, typer.Option(help="Of Prefect's pages; 0 is any free one.")] = None,
    mlflow_port: Annotated[int | None, typer.Option(help="Of MLflow's pages; 0 is any free one.")] = None,
    dask_port: Annotated[int | None, typer.Option(help="Of Dask's scheduler; 0 is any free one.")] = None,
    dashboard_port: Annotated[int | None, typer.Option(help="Of Dask's pages; 0 is any free one.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start the whole local stack: Prefect with its worker and schedules, MLflow's pages, a Dask cluster.

    What runs already is left alone; what died is started again. All of it is on loopback. Nothing needs the stack:
    without it `tagflow run` does everything in its own process.
    """
    from infra.cli.recipes import settled_source
    from infra.stack.local_stack import bring_up
    from tagcore.store.files import require_writable
    from tasks.settings import load_settings

    settings = load_settings(
        home=home,
        source=data,
        workers=workers,
        prefect_port=prefect_port,
        mlflow_port=mlflow_port,
        dask_port=dask_port,
        dashboard_port=dashboard_port,
    )
    if settings.prefect != "server":
        raise ValueError(f"prefect = {settings.prefect!r}: `tagflow up` has a Prefect of its own, expected server")
    if settings.source:  # one of the settings may be away for a while, as a disk of the network is: the night says so
        source = settled_source(settings.source, must_exist=data is not None)
        settings = settings.model_copy(update={"source": source})
    require_writable(settings.state)
    console = Console(as_json)
    _show(console, bring_up(settings, console.say))


def down(home: HomeOption = None) -> None:
    """Stop what `up` or `run` started: these processes and no others."""
    from infra.stack.local_stack import take_down
    from tasks.settings import load_settings

    ended = take_down(load_settings(home=home).state)
    print("\n".join(f"{title} stopped" for title in ended) or "nothing was running")


def status(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show every part of the stack with its address and health.

    Exit code 1 if a part died or does not answer, else 0, also where nothing was started.
    """
    from infra.stack.local_stack import stack_states
    from tasks.settings import load_settings

    states = stack_states(load_settings(home=home).state)
    _show(Console(as_json), states)
    if any(state.needs_repair for state in states):
        sys.exit(1)


def open_page(
    part: Annotated[str, typer.Argument(help="prefect, mlflow or dask.")],
    home: HomeOption = None,
) -> None:
    """Open the pages of a part of the stack in a browser, and print their address."""
    import webbrowser

    from infra.stack.local_stack import PAGES, address_of
    from tasks.settings import load_settings

    if part not in PAGES:
        raise ValueError(f"there are no pages of {part!r}, expected one of {', '.join(PAGES)}")
    address = address_of(load_settings(home=home).state, part)
    if address is None:
        raise ValueError(f"{part} does not run: `tagflow up` starts it")
    print(address)
    webbrowser.open(address)


def logs(
    part: Annotated[str, typer.Argument(help="prefect, worker, mlflow, dask or dask-workers.")],
    lines: Annotated[int, typer.Option("--lines", "-n", help="How many of the last lines.", min=1)] = 50,
    home: HomeOption = None,
) -> None:
    """Print the end of what a part of the stack wrote."""
    from infra.stack.local_stack import log_file
    from infra.stack.process import last_lines
    from tasks.settings import load_settings

    log = log_file(load_settings(home=home).state, part)
    if not log.exists():
        raise ValueError(f"{log}: {part} has not been started: `tagflow up` does")
    print(last_lines(log, lines))


def _show(console: Console, states: "list[PartState]") -> None:
    if console.as_json:
        console.result({state.name: vars(state) for state in states})
        return
    for state in states:
        process = f" (process {state.pid})" if state.pid else ""
        print(f"{state.title:15} {state.health:15} {state.address}{process}".rstrip())
