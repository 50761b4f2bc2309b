"""`python -m tests.bench [names] [--data DIR] [--set NAME=VALUE]`: measures, and writes figures into docs/results/.

Without names all but those of scale, which take long: `scale-x` is `tests.bench.scale.bench_x`. What can be set of a
benchmark, such as its size, are the further arguments of its `run`; what was set stands in the command below figures.
"""

import argparse
import importlib
import inspect
import shlex
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from infra.cli.results import write_section

RESULTS = Path(__file__).parents[2] / "docs" / "results"


class Section(NamedTuple):
    """Where the figures of a benchmark stand: a page of docs/results, and the title there."""

    page: str
    title: str


SECTIONS = {
    "tfidf": Section("speed", "Text to tf-idf"),
    "knn": Section("speed", "Single queries to the kNN baseline"),
    "linear": Section("speed", "One-vs-rest linear"),
    "trees": Section("speed", "One-vs-rest linear against trees of tags"),
    "readers": Section("speed", "Readers"),
    "dumps": Section("speed", "Dumps of a gigabyte"),
    "metrics": Section("speed", "Measures"),
    "tag": Section("speed", "Tagging of files of any size"),
    "selection": Section("speed", "Word selection"),
    "synthetic": Section("speed", "Planted data"),
    "bomc": Section("speed", "BOMC: training speed"),
    "bmlpl": Section("speed", "BMLPL: training speed"),
    "pmm": Section("speed", "PMM: speed"),
    "sgps": Section("speed", "SGPS: training speed"),
    "tagicofi": Section("speed", "TagiCoFi: speed"),
    "blend": Section("speed", "The default night and its blend"),
    "coupling": Section("bomc", "BOMC: coupled against independent tags"),
    "topics": Section("bmlpl", "BMLPL: 20 topics of each set"),
    "inference": Section("bmlpl", "BMLPL: quality against time"),
    "lowrank": Section("bmlpl", "Low-rank baselines of the BMLPL paper"),
    "classifiers": Section("gaussian-processes", "SGPS against scikit-learn"),
    "evidence": Section("gaussian-processes", "Evidence over length scale and amplitude"),
    "cluster": Section("scale", "What a round on a cluster costs"),
    "altered": Section("runs", "Altered model folders"),
    "crawl": Section("runs", "The crawler: faults, kills, nights, and Scrapy"),
    "fuzz": Section("runs", "Altered inputs to the parsers"),
    "prefect": Section("runs", "Our Prefect server process against Prefect's command"),
    "start": Section("runs", "The command from a cold start"),
    "warm": Section("runs", "A warm-started night against a full retrain"),
    "runs": Section("runs", "Whole runs: quality, and the overhead of Prefect and MLflow"),
}
SCALE = {
    "scale-rcv1": Section("scale", "RCV1 in full on two workers"),
    "scale-counts": Section("scale", "PMM: RCV1 in full on two workers"),
    "scale-mmsg": Section("scale", "MMSG: RCV1 on two workers"),
    "scale-delicious": Section("scale", "A million bookmarks and 100,000 tags on two workers"),
    "scale-ratings": Section("scale", "TagiCoFi: 20 million ratings of a million users on two workers"),
    "scale-same": Section("scale", "The same model on any number of workers"),
    "scale-overhead": Section("scale", "Two workers against two threads"),
    "scale-rows": Section("scale", "Cost per row as rows grow"),
}
ALL_SECTIONS = SECTIONS | SCALE


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *ALL_SECTIONS], metavar="name", help=", ".join(ALL_SECTIONS))
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data")
    parser.add_argument("--show", action="store_true", help="print the figures and write nothing")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="such as pages=500 of crawl")
    args = parser.parse_args()
    data = args.data if args.data.is_dir() else None
    if args.set and len(args.names) != 1:
        parser.error(f"--set {args.set[0]} is of one benchmark, expected one name")
    for name in args.names or SECTIONS:
        module = _module(name)
        try:
            chosen = settings(module, args.set)
        except ValueError as error:
            parser.error(str(error))
        rows = module.run(data, **chosen)
        table = markdown(rows)
        page, title = ALL_SECTIONS[name]
        print(f"\n{title}\n\n{table}", flush=True)
        if args.show:
            continue
        body = f"{str(module.__doc__).strip()}\n\n{table}"
        if rows and hasattr(module, "draw"):
            picture = module.draw(rows).relative_to(RESULTS)
            body += f"\n\n![{title}]({picture.as_posix()})"
        command = ["python", "-m", "tests.bench", name, *(part for pair in args.set for part in ("--set", pair))]
        write_section(RESULTS / f"{page}.md", name, title, body, shlex.join(command))


def _module(name: str) -> ModuleType:
    folder, _, bench = name.rpartition("-")
    return importlib.import_module(".".join(["tests.bench", *folder.split(), f"bench_{bench}"]))


def settings(module: ModuleType, pairs: Sequence[str]) -> dict[str, Any]:
    """Reads NAME=VALUE as arguments of a benchmark's `run`, each of the type of its default."""
    _, *known = inspect.signature(module.run).parameters.values()
    defaults = {parameter.name: parameter.default for parameter in known}
    chosen: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in defaults:
            raise ValueError(f"--set {pair}: expected NAME=VALUE with one of {', '.join(defaults) or 'no names'}")
        try:
            chosen[name] = type(defaults[name])(value)
        except ValueError:
            raise ValueError(f"--set {pair}: expected a value like {defaults[name]}") from None
    return chosen


def markdown(rows: list[dict[str, Any]]) -> str:
    """A table whose columns are all the keys in the order they first appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(_cell(row.get(c, "")) for c in columns) + " |" for row in rows])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
