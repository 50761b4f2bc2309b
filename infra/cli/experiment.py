"""`tagflow experiment` and `train`: models measured against each other, nothing promoted."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from flows.experiment import ExperimentResult
    from tasks.recipe import Recipe


_SET_BY_TRAIN = {  # settings of the recipe -> what says them
    "models": "MODEL, --param, --calibrate and --thresholds say which model",
    "seeds": "--seed says which; `tagflow experiment` takes several",
    "name": "`tagflow experiment` takes recipes of any name",
}


def train(
    model: Annotated[str, typer.Argument(help="A model by class name, such as bomc, BMLPL or OneVsRestLinear.")],
    data: DataOption = None,
    name: NameOption = None,
    option: ReaderOption = None,
    set_: SetOption = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="A parameter of the model, such as C=0.5.")
    ] = None,
    calibrate: Annotated[
        str, typer.Option(help="isotonic, platt, frequency (of the tag, too), better (of two), or none.")
    ] = "isotonic",
    thresholds: Annotated[
        str | None, typer.Option(help="cross-validated, or the class whose cross-validated thresholds to label by.")
    ] = None,
    seed: int = 0,
    skip_bad_rows: SkipOption = False,
    cluster: ClusterOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train and measure one model; nothing is promoted."""
    from infra.cli.values import parse_pairs
    from tagcore.base import Estimator
    from tagcore.fitting import model_class

    console = Console(as_json)
    if theirs := [name for name in parse_pairs(set_) if name in _SET_BY_TRAIN]:
        raise ValueError(f"--set {theirs[0]}: `train` sets it itself; {_SET_BY_TRAIN[theirs[0]]}")
    known = model_class(model, Estimator)
    one = {"model": known.__name__, "params": parse_pairs(param), "calibrate": calibrate, "thresholds": thresholds}
    overrides = {"models": [one], "seeds": [seed], "name": "train"}
    of_documents = "nightly" if data else "demo"
    preset = {"ratings": "ratings", "classes": "classes"}.get(known.learns_from, of_documents)
    chosen = recipe_from_options(
        preset, data, set_, skip_bad_rows, overrides, data_name=name, options=option, several_sets=True
    )
    _show(console, _run_experiment(console, chosen, home, cluster))


def experiment(
    preset: Annotated[str, typer.Argument(help="A preset or a .toml file.")],
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="A data set, or a folder of known sets: all of them.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", help="A set of the folder to leave out. Repeatable.")
    ] = None,
    name: NameOption = None,
    option: ReaderOption = None,
    into: Annotated[Path | None, typer.Option(help="Also write the tables into this Markdown file.")] = None,
    set_: SetOption = None,
    skip_bad_rows: SkipOption = False,
    cluster: ClusterOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """A recipe over its grid of models, seeds and settings: one MLflow run each, one table for each data set.

    Where the grid varies one number, such as split.train_documents or a parameter of models, quality is also drawn
    against it: curves.png and curves.md beside the reports. Presets: `baselines`, `linear`, `bomc`, `bomc-curve`, ...
    A grid of your own: --set 'grid={"split.train_documents"=[500, 1000, 2000]}'.
    """
    from infra.cli.results import write_experiment

    console = Console(as_json)
    if into is not None:
        require_place(into)
    chosen = recipe_from_options(
        preset, data, set_, skip_bad_rows, without=without or [], data_name=name, options=option, several_sets=True
    )
    result = _run_experiment(console, chosen, home, cluster)
    if into is not None:
        told = [f"data.options.{pair}" for pair in option or ()]
        settings = [*(set_ or ()), *told, *([f"data.name={name}"] if name else ())]
        write_experiment(into, chosen, result, preset=preset, data=data, without=without or (), settings=settings)
    _show(console, result)


def _run_experiment(console: Console, recipe: "Recipe", home: Path | None, cluster: str | None) -> "ExperimentResult":
    from tasks.model_parameters import require_parameters

    require_parameters(recipe)  # before a server is started
    with console.session(home, cluster):
        from flows.experiment import experiment as run_experiment

        return run_experiment(recipe)


def _show(console: Console, result: "ExperimentResult") -> None:
    if console.as_json:
        console.result({**asdict(result), "account": console.account()})
        return
    for report in result.reports:
        console.table(report)
        console.say(f"report and plots: {report.folder}")
    for curves in result.curves:
        print(curves.markdown())
        console.say(f"curves: {curves.folder}")
    console.show_account()
