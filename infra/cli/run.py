"""`tagflow run`: the whole pipeline, from documents or ratings to a model in service."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.console import Console
from infra.cli.options import ClusterOption, DataOption, HomeOption, JsonOption, NameOption, SetOption, SkipOption
from infra.cli.recipes import recipe_from_options, usual_preset

if TYPE_CHECKING:
    from flows.nightly import NightlyResult


def run(
    data: DataOption = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="A preset or a .toml file (default: nightly, ratings for data of ratings, demo without --data)."
        ),
    ] = None,
    name: NameOption = None,
    set_: SetOption = None,
    skip_bad_rows: SkipOption = False,
    full: Annotated[
        bool, typer.Option("--full", help="Train every model from nothing, instead of going on from the last night.")
    ] = False,
    cluster: ClusterOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The whole pipeline: read, prepare, train, compare, register, promote, and suggest tags or recommend items."""
    console = Console(as_json)
    chosen = recipe_from_options(recipe or usual_preset(data), data, set_, skip_bad_rows, data_name=name)
    if len(chosen.seeds) > 1:
        console.say(f"`run` takes one seed, {chosen.seeds[0]}, of the recipe's {len(chosen.seeds)}; `experiment` all")
    with console.session(home, cluster):
        from flows.nightly import nightly

        night = nightly(chosen, full)
    if as_json:
        console.result({**asdict(night), "account": console.account()})
        return
    console.table(night.report)
    _show_hold_outs(console, night)
    _show_decision(console, night)
    _show_examples(console, night)
    console.show_account()


def _show_hold_outs(console: Console, night: "NightlyResult") -> None:
    """How good the challenger is on the documents of the last nights, beside those that decide."""
    for title, head, rows in night.tables[-1:]:
        for row in rows:
            if row[0] == night.decision.model and row[-1] != "0":
                console.say(f"{title}: {row[1]} on {row[2]} held out at first, {row[3]} on {row[4]} {head[3]}")


def _show_decision(console: Console, night: "NightlyResult") -> None:
    decision = night.decision
    verdict = "promoted" if decision.promoted else "not promoted"
    console.say(f"{decision.name} version {decision.challenger} ({decision.model}): {verdict}, {decision.reason}")
    in_service = f"{night.model}, version {decision.in_service}" if night.model else "nothing"
    console.say(f"in service: {in_service}; report: {night.page} (`tagflow report` opens it)")


def _show_examples(console: Console, night: "NightlyResult") -> None:
    for example in night.examples:
        console.say(f"\n{example.told()}")
