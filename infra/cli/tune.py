"""`tagflow tune`: the settings of models, searched on validation documents."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from infra.cli.console import Console
from infra.cli.into import require_place
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
from infra.cli.recipes import recipe_from_options


def tune(
    preset: Annotated[str, typer.Argument(help="A preset or a .toml file, such as nightly.")],
    data: DataOption = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="Search only this model of the recipe. Repeatable.")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="How many points are tried for each model (default: the recipe's [tuning], else 30)."),
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(
            help="tpe (learns from the trials before), random, or grid (every point of the grids). Default: that of "
            "the recipe's [tuning], else tpe."
        ),
    ] = None,
    into: Annotated[Path | None, typer.Option(help="Also write the tuned recipe to this .toml file.")] = None,
    name: NameOption = None,
    option: ReaderOption = None,
    set_: SetOption = None,
    skip_bad_rows: SkipOption = False,
    cluster: ClusterOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the settings of a recipe's models, and write the best as a recipe that `tagflow run` takes.

    Every model has a study of its own: so many trials, each trained on a quarter of the documents and, unless it is
    below the median of the others there, on all of them. What decides is the recipe's primary measure on a fifth of the
    training documents; the test is measured once, with the best settings. A study that is killed goes on where it was,
    and the same command with more --trials adds to it; the same seed finds the same settings on any cluster.

    What is searched: the recipe's [search] and the models' grids; for models that have neither, the usual ranges of
    flows/search_spaces.toml. In a recipe of your own:

    \b
        [search.OneVsRestLinear]
        C = { low = 0.03, high = 30.0, log = true }     (a range; whole numbers where both ends are)
        "features.ngram_range" = [[1, 1], [1, 2]]       (some values, here of the model's own features)

    Then: tagflow tune nightly --data notes.jsonl --into best.toml; tagflow run --data notes.jsonl --recipe best.toml.
    """
    from flows.recipes import recipe_to_tune
    from tagcore.store.files import write_text
    from tasks.model_parameters import require_parameters

    console = Console(as_json)
    if into is not None:
        require_place(into)
    typed = {"tuning.sampler": sampler, "tuning.trials": trials}
    more = {setting: value for setting, value in typed.items() if value is not None}
    chosen = recipe_from_options(
        preset, data, set_, skip_bad_rows, more, data_name=name, options=option, usual={"tuning": {"sampler": "tpe"}}
    )
    chosen = recipe_to_tune(chosen, model or [])
    require_parameters(chosen)  # before a server is started
    with console.session(home, cluster):
        from flows.tune import tune as run_tune

        result = run_tune(chosen)
    if into is not None:
        write_text(into, Path(result.recipe).read_text(encoding="utf-8"))
    if as_json:
        console.result({**asdict(result), "account": console.account()})
        return
    console.table(result.report)
    for study in result.studies:
        console.say(study.told())
    console.say(f"tuned recipe: {into or result.recipe}; report: {result.page}")
    console.show_account()
