"""`python -m tests.bench [names] [--data DIR]`: measures, prints, and writes the figures into docs/results.md.

Without names all but those of scale, which take long: `scale-x` is `tests.bench.scale.bench_x`.
"""

import argparse
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from infra.cli.results import write_section

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"
SECTIONS = {
    "tfidf": "Text to tf-idf",
    "knn": "Single queries to the kNN baseline",
    "linear": "One-vs-rest linear",
    "readers": "Readers",
    "metrics": "Measures",
    "selection": "Word selection",
    "synthetic": "Planted data",
    "bomc": "BOMC: training speed",
    "bmlpl": "BMLPL: training speed",
    "inference": "BMLPL: quality against time",
    "lowrank": "Low-rank baselines of the BMLPL paper",
    "cluster": "What a round on a cluster costs",
    "prefect": "Our Prefect server process against Prefect's command",
    "runs": "Whole runs: quality, and the overhead of Prefect and MLflow",
}
SCALE = {
    "scale-rcv1": "RCV1 in full on two workers",
    "scale-delicious": "A million bookmarks and 100,000 tags on two workers",
    "scale-same": "The same model on any number of workers",
    "scale-overhead": "Two workers against two threads",
    "scale-rows": "Cost per row as rows grow",
}
TITLES = SECTIONS | SCALE


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *TITLES], metavar="name", help=", ".join(TITLES))
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data")
    parser.add_argument("--show", action="store_true", help="print the figures and write nothing")
    args = parser.parse_args()
    data = args.data if args.data.is_dir() else None
    for name in args.names or SECTIONS:
        module = _module(name)
        rows = module.run(data)
        table = markdown(rows)
        print(f"\n{TITLES[name]}\n\n{table}", flush=True)
        if args.show:
            continue
        body = f"{str(module.__doc__).strip()}\n\n{table}"
        if rows and hasattr(module, "draw"):
            picture = module.draw(rows).relative_to(RESULTS.parent)
            body += f"\n\n![{TITLES[name]}]({picture.as_posix()})"
        write_section(RESULTS, name, TITLES[name], body, f"python -m tests.bench {name}")


def _module(name: str) -> ModuleType:
    folder, _, bench = name.rpartition("-")
    return importlib.import_module(".".join(["tests.bench", *folder.split(), f"bench_{bench}"]))


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
