"""`tagflow schedule`: what Prefect runs by itself, and when. The times that are shipped: `infra/prefect.yaml`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infra.cli.console import Console
from infra.cli.options import DataOption, HomeOption, JsonOption, NameOption, ReaderOption, SetOption, SkipOption

if TYPE_CHECKING:
    from infra.stack.prefect_api import PrefectApi

app = typer.Typer(no_args_is_help=True, invoke_without_command=True)
ScheduleArgument = Annotated[str, typer.Argument(help="Its name, as `tagflow schedule list` tells it.")]


@app.callback()
def schedule(
    context: typer.Context,
    data: DataOption = None,
    at: Annotated[str | None, typer.Option(help="Every day at this time of day, such as 02:00.")] = None,
    cron: Annotated[str | None, typer.Option(help='Instead of --at: cron fields, such as "0 2 * * 1-5".')] = None,
    job: Annotated[str, typer.Option(help="retrain (train and promote), read (ingest alone) or compare.")] = "retrain",
    recipe: Annotated[str, typer.Option(help="A preset or a .toml file.")] = "nightly",
    name: NameOption = None,
    option: ReaderOption = None,
    set_: SetOption = None,
    skip_bad_rows: SkipOption = False,
    timezone: Annotated[str | None, typer.Option(help="Such as Europe/Berlin (default: this machine's).")] = None,
    home: HomeOption = None,
) -> None:
    """Make a schedule of a recipe on data, as a deployment of the stack's Prefect: `--data notes.jsonl --at 02:00`.

    It needs the stack (`tagflow up`). The same schedule of the same data and recipe is changed, not made twice.
    """
    if context.invoked_subcommand is not None:
        return
    from infra.cli.recipes import reader_settings, recipe_from_options, settled_source
    from infra.cli.values import parse_pairs
    from infra.stack.deployments import SHIPPED, add_schedule, require_cron
    from tasks.naming import data_name, registered_name
    from tasks.timezones import require_timezone

    if data is None:
        raise ValueError("expected --data: the file or folder that is to be read every time, or demo")
    if job not in SHIPPED:
        raise ValueError(f"--job {job!r}: expected one of {', '.join(SHIPPED)}")
    chosen = recipe_from_options(recipe, data, set_, skip_bad_rows, data_name=name, options=option)
    if job == "retrain":
        chosen.require_no_grid()
    settings: dict[str, Any] = (
        parse_pairs(set_) | reader_settings(option) | ({"data.skip_bad_rows": True} if skip_bad_rows else {})
    )
    parameters = {
        "data": settled_source(data),
        "recipe": str(Path(recipe).absolute()) if recipe.endswith(".toml") else recipe,
        "name": name,
        "settings": settings or None,
    }
    called = registered_name(chosen.name, data_name(chosen.data))
    when = _cron(at, cron)
    if timezone is not None:
        require_timezone(timezone, "--timezone")
    api = _api(home)
    if cron is not None:
        _use_own_prefect(home)
        require_cron(cron)
    print(f"{add_schedule(api, job, called, when, timezone or _timezone(home), parameters)}: {when}")


@app.command("list")
def list_schedules(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List all schedules: when, of what, the next run and how the last one ended."""
    from infra.stack.deployments import schedules

    found = schedules(_api(home))
    console = Console(as_json)
    if as_json:
        console.result({"schedules": [vars(one) for one in found]})
        return
    for one in found:
        when = f"{one.cron} {one.timezone}" if one.active else f"paused ({one.cron})"
        coming = f", next {one.next_run[:16].replace('T', ' ')} UTC" if one.next_run and one.active else ""
        last = f", last run {one.last_state}" if one.last_state else ""
        print(f"{one.name:28} {when:32} {one.recipe} of {one.data}{coming}{last}")


@app.command()
def pause(name: ScheduleArgument, home: HomeOption = None) -> None:
    """Stop a schedule from making runs, until `resume`."""
    from infra.stack.deployments import set_active

    set_active(_api(home), name, False)
    print(f"{name}: paused")


@app.command()
def resume(name: ScheduleArgument, home: HomeOption = None) -> None:
    """Let a paused schedule make runs again."""
    from infra.stack.deployments import set_active

    set_active(_api(home), name, True)
    print(f"{name}: resumed")


@app.command()
def remove(name: ScheduleArgument, home: HomeOption = None) -> None:
    """Remove a schedule. Those of infra/prefect.yaml come back with the next `up`: pause them instead."""
    from infra.stack.deployments import remove_schedule

    remove_schedule(_api(home), name)
    print(f"{name}: removed")


def _api(home: Path | None) -> "PrefectApi":
    """The API of the stack's Prefect, or of the one that the settings name."""
    from infra.stack.prefect import server_status
    from infra.stack.prefect_api import PrefectApi
    from tasks.settings import load_settings

    settings = load_settings(home=home)
    if settings.prefect.startswith("http"):
        return PrefectApi(settings.prefect)
    server = server_status(settings.state)
    if server is None or server.services != "full":
        raise ValueError("the stack is not up, and schedules live in its Prefect: `tagflow up` first")
    return PrefectApi(f"{server.url}/api")


def _use_own_prefect(home: Path | None) -> None:
    """Keeps Prefect, which is about to be imported, from the user's own home of it, where the stack's is asked."""
    from infra.stack.prefect import connect
    from tasks.settings import load_settings

    settings = load_settings(home=home)
    if not settings.prefect.startswith("http"):
        connect(None, settings.state)


def _timezone(home: Path | None) -> str | None:
    from tasks.settings import load_settings

    return load_settings(home=home).timezone


def _cron(at: str | None, cron: str | None) -> str:
    if (at is None) == (cron is None):
        raise ValueError("expected either --at, such as 02:00, or --cron, such as '0 2 * * *'")
    if cron is not None:
        return cron
    time = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", at or "")
    if time is None:
        raise ValueError(f"--at {at!r}: expected a time of day, such as 02:00")
    return f"{int(time[2])} {int(time[1])} * * *"
