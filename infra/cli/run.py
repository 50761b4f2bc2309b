"""`tagflow run`, `train`, `experiment`, `ingest`: the flows, from the command line."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infra.cli.console import Console

if TYPE_CHECKING:
    from flows.experiment import ExperimentResult
    from flows.nightly import NightlyResult
    from tasks.recipe import Recipe

DataOption = Annotated[
    str | None,
    typer.Option(
        "--data", "-d", help="A file or folder: jsonl, csv, ARFF + XML, Extreme Classification text; or `demo`."
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
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="A setting of the recipe, such as features.stem=english. Repeatable."),
]
SkipOption = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave out rows that cannot be read, and list them in rejected.jsonl.")
]


def run(
    data: DataOption = None,
    recipe: Annotated[
        str | None, typer.Option(help="A preset or a .toml file (default: nightly, demo without --data).")
    ] = None,
    set_: SetOption = None,
    skip_bad_rows: SkipOption = False,
    cluster: ClusterOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The whole pipeline: read, build features, train, compare, register, promote, and suggest tags."""
    console = Console(as_json)
    chosen = _recipe(recipe or ("nightly" if data else "demo"), data, set_, skip_bad_rows)
    outcome = _in_session(console, home, "flows.nightly", "nightly", chosen, cluster)
    if as_json:
        console.result({**asdict(outcome), "account": _account(console)})
        return
    console.table(outcome.report)
    _show_decision(console, outcome)
    _show_examples(console, outcome)
    _show_account(console)


def train(
    model: Annotated[str, typer.Argument(help="A model by class name, such as bomc, BMLPL or OneVsRestLinear.")],
    data: DataOption = None,
    set_: SetOption = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="A parameter of the model, such as C=0.5.")
    ] = None,
    calibrate: Annotated[str | None, typer.Option(help="isotonic or platt.")] = None,
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
    from tagcore.fitting import model_class

    console = Console(as_json)
    one = {"model": model_class(model).__name__, "params": parse_pairs(param), "calibrate": calibrate}
    one["thresholds"] = thresholds
    overrides = {"models": [one], "seeds": [seed], "name": "train"}
    chosen = _recipe("nightly" if data else "demo", data, set_, skip_bad_rows, overrides)
    _show_findings(console, _in_session(console, home, "flows.experiment", "experiment", chosen, cluster))


def experiment(
    preset: Annotated[str, typer.Argument(help="A preset or a .toml file.")],
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="A data set, or a folder of known sets: all of them.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", help="A set of the folder to leave out. Repeatable.")
    ] = None,
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
    chosen = _recipe(preset, data, set_, skip_bad_rows, without=without or [])
    found = _in_session(console, home, "flows.experiment", "experiment", chosen, cluster)
    if into is not None:
        write_experiment(into, chosen, found, preset=preset, data=data, without=without or (), settings=set_ or ())
    _show_findings(console, found)


def ingest(
    data: Annotated[str, typer.Argument(help="A file or folder to read.")],
    skip_bad_rows: SkipOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read documents and tags into a stored corpus, and say what is in it."""
    console = Console(as_json)
    folder = _in_session(console, home, "flows.stages", "ingest", _recipe("nightly", data, None, skip_bad_rows))
    from tagcore.store.datasets import read_manifest

    counts = read_manifest(folder, "corpus")["counts"]
    if as_json:
        console.result({"corpus": folder, "counts": counts})
    else:
        print(f"{folder}: " + ", ".join(f"{n:,} {name}" for name, n in counts.items()))


def _recipe(
    name: str,
    data: str | None,
    settings: list[str] | None,
    skip: bool,
    more: dict | None = None,
    without: Sequence[str] = (),
) -> "Recipe":
    from flows.recipes import load_recipe
    from infra.cli.values import parse_pairs

    overrides: dict[str, Any] = {**parse_pairs(settings), **(more or {})}
    if data is not None:
        overrides |= _sources(data, without)
    if skip:
        overrides["data.skip_bad_rows"] = True
    return load_recipe(name, overrides)


def _sources(data: str, without: Sequence[str]) -> dict[str, Any]:
    """One source; or, of a folder that is none itself but holds known sets, all of them as a grid."""
    from tagcore.readers.cards import data_sets, known_cards

    folder = Path(data)
    if folder.is_dir() and not any(card.find(folder) for card in known_cards()) and (known := data_sets(folder)):
        return {"grid": {"data.source": [s for s in known if re.split("[/:]", s)[-1] not in without]}}
    return {"data.source": data}


def _in_session(
    console: Console, home: Path | None, module: str, flow: str, recipe: "Recipe", cluster: str | None = None
) -> Any:
    import importlib

    from infra.session import prepare

    prepare(home, console.say, cluster)
    function = getattr(importlib.import_module(module), flow)
    with console.watching():
        return function(recipe)


def _show_decision(console: Console, outcome: "NightlyResult") -> None:
    decision = outcome.decision
    what = f"{decision.name} version {decision.challenger} ({outcome.report.rows[0].model})"
    verdict = "promoted" if decision.promoted else "not promoted"
    console.say(f"{what}: {verdict}, {decision.reason}")
    console.say(
        f"in service: {outcome.model}, version {decision.in_service}; report and plots: {outcome.report.folder}"
    )


def _show_examples(console: Console, outcome: "NightlyResult") -> None:
    for example in outcome.examples:
        given = f"   (people said: {', '.join(example.given)})" if example.given else "   (nobody tagged it)"
        console.say(f"\n  “{' '.join(example.text.split())[:150]}…”")
        console.say(f"  → {', '.join(f'{tag} {score:.2f}' for tag, score in example.suggested)}{given}")


def _show_findings(console: Console, found: "ExperimentResult") -> None:
    if console.as_json:
        console.result({**asdict(found), "account": _account(console)})
        return
    for report in found.reports:
        console.table(report)
        console.say(f"report and plots: {report.folder}")
    for curves in found.curves:
        print(curves.markdown())
        console.say(f"curves: {curves.folder}")
    _show_account(console)


def _account(console: Console) -> dict[str, float]:
    """Where the time went: the steps' own work, and all that Prefect, MLflow and start-up added."""
    total, work = console.seconds(), sum(console.worked.values())
    training = sum(s for title, s in console.worked.items() if title.startswith("train "))
    overhead = total - console.working()
    return {"total_seconds": total, "work_seconds": work, "train_seconds": training, "overhead_seconds": overhead}


def _show_account(console: Console) -> None:
    a = _account(console)
    console.say(
        f"\n{a['total_seconds']:.1f} s in all: {a['work_seconds']:.1f} s of work, "
        f"{a['train_seconds']:.1f} s of it training; "
        f"{a['overhead_seconds']:.1f} s of Prefect, MLflow, compiling and start-up; {console.stood} steps stood already"
    )
