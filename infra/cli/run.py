"""`tagflow run`: the whole pipeline, from documents or ratings to a model in service."""

from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infra.cli.console import Console
from infra.cli.options import (
    ClusterOption,
    DataOption,
    HomeOption,
    JsonOption,
    NameOption,
    ReaderOption,
    SetOption,
    SkipOption,
)
from infra.cli.recipes import look_at_data, recipe_from_options, usual_preset

if TYPE_CHECKING:
    from tasks.recipe import Recipe


def run(
    data: DataOption = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="A preset or a .toml file (default: nightly, ratings for data of ratings, demo without --data)."
        ),
    ] = None,
    name: NameOption = None,
    option: ReaderOption = None,
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
    preset = recipe or usual_preset(data)
    chosen = recipe_from_options(preset, data, set_, skip_bad_rows, data_name=name, options=option, look=False)
    with _told_of_failure(chosen, home, cluster):
        look_at_data(chosen)
        chosen.require_no_grid()
    if len(chosen.seeds) > 1:
        console.say(f"`run` takes one seed, {chosen.seeds[0]}, of the recipe's {len(chosen.seeds)}; `experiment` all")
    standing = None if full else _standing(console, chosen, home, cluster)
    outcome, examples = standing or _run(console, chosen, full, home, cluster)
    if as_json:
        console.result({**outcome, "account": console.account()})
        return
    _show(console, outcome, examples)
    console.show_account()


def _run(
    console: Console, recipe: "Recipe", full: bool, home: Path | None, cluster: str | None
) -> tuple[dict[str, Any], list[str]]:
    """What the night gave, as plain data, and the examples as a person reads them."""
    from tasks.model_parameters import require_parameters

    with ExitStack() as session:
        with _told_of_failure(recipe, home, cluster):  # the night itself tells what ends it
            require_parameters(recipe)  # before a server is started
            session.enter_context(console.session(home, cluster))
        from flows.nightly import nightly

        night = nightly(recipe, full)
    return asdict(night), [example.told() for example in night.examples]


def _told_of_failure(recipe: "Recipe", home: Path | None, cluster: str | None) -> AbstractContextManager[None]:
    """Tells whoever the settings name of a night that fails before it begins, as cron would tell nobody."""
    from tasks.naming import data_name, registered_name
    from tasks.notify import tell_of_failure
    from tasks.settings import load_settings

    settings = load_settings(home=home, cluster=cluster)
    return tell_of_failure(settings, registered_name(recipe.name, data_name(recipe.data)))


def _standing(
    console: Console, recipe: "Recipe", home: Path | None, cluster: str | None
) -> tuple[dict[str, Any], list[str]] | None:
    """What the last night gave, told step by step, where a run would only repeat it."""
    from tasks.nothing_to_redo import find_standing
    from tasks.settings import load_settings

    night = find_standing(recipe, load_settings(home=home, cluster=cluster))
    if night is None:
        return None
    for title, remark in night.steps:
        console.tell_standing(title, remark)
    console.say("nothing is new since the last run: no other was made")
    return night.outcome, night.examples


def _show(console: Console, outcome: dict[str, Any], examples: list[str]) -> None:
    from tasks.reporting.comparison import Report

    console.table(Report.from_plain(outcome["report"]))
    decision = outcome["decision"]
    for title, head, rows in outcome["tables"][-1:]:  # how good it is on the newest documents, beside those that decide
        for row in rows:
            if row[0] == decision["model"] and row[-1] != "0":
                console.say(f"{title}: {row[1]} on {row[2]} held out at first, {row[3]} on {row[4]} {head[3]}")
    verdict = "promoted" if decision["promoted"] else "not promoted"
    told = f"{decision['name']} version {decision['challenger']} ({decision['model']})"
    console.say(f"{told}: {verdict}, {decision['reason']}")
    version = decision["challenger"] if decision["promoted"] else decision["champion"]
    in_service = f"{outcome['model']}, version {version}" if outcome["model"] else "nothing"
    console.say(f"in service: {in_service}; report: {outcome['page']} (`tagflow report` opens it)")
    for example in examples:
        console.say(f"\n{example}")
