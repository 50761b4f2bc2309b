"""`python -m tests.bench [names] [--data DIR]`: measures, prints, and writes the figures into docs/results/.

Without names all but those of scale, which take long: `scale-x` is `tests.bench.scale.bench_x`.
"""

import argparse
import importlib
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
    "readers": Section("speed", "Readers"),
    "metrics": Section("speed", "Measures"),
    "tag": Section("speed", "Tagging of files of any size"),
    "selection": Section("speed", "Word selection"),
    "synthetic": Section("speed", "Planted data"),
    "bomc": Section("speed", "BOMC: training speed"),
    "bmlpl": Section("speed", "BMLPL: training speed"),
    "pmm": Section("speed", "PMM: speed"),
    "sgps": Section("speed", "SGPS: training speed"),
    "tagicofi": Section("speed", "TagiCoFi: speed"),
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
    args = parser.parse_args()
    data = args.data if args.data.is_dir() else None
    for name in args.names or SECTIONS:
        module = _module(name)
        rows = module.run(data)
        table = markdown(rows)
        page, title = ALL_SECTIONS[name]
        print(f"\n{title}\n\n{table}", flush=True)
        if args.show:
            continue
        body = f"{str(module.__doc__).strip()}\n\n{table}"
        if rows and hasattr(module, "draw"):
            picture = module.draw(rows).relative_to(RESULTS)
            body += f"\n\n![{title}]({picture.as_posix()})"
        write_section(RESULTS / f"{page}.md", name, title, body, f"python -m tests.bench {name}")


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
