"""`python -m tests.bench [names] [--data DIR]`: measures, prints, and writes the figures into docs/results.md."""

import argparse
import importlib
import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"
SECTIONS = {
    "tfidf": "Text to tf-idf",
    "knn": "Single queries to the kNN baseline",
    "linear": "One-vs-rest linear",
    "readers": "Readers",
    "runs": "Whole runs: quality, and the overhead of Prefect and MLflow",
}
HEAD = """# Measured

Speed is given as ratios to a named peer in the same run; absolute times are of the machine named in each section. Each
section is written by `python -m tests.bench NAME`, all of them by `make bench`. The real data sets are read from
`../shared/data` or `--data`; without them only what needs none is measured.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *SECTIONS], metavar="name", help=", ".join(SECTIONS))
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data")
    args = parser.parse_args()
    data = args.data if args.data.is_dir() else None
    for name in args.names or SECTIONS:
        module = importlib.import_module(f"tests.bench.bench_{name}")
        table = markdown(module.run(data))
        print(f"\n{SECTIONS[name]}\n\n{table}", flush=True)
        write_section(name, f"{module.__doc__.strip()}\n\n{table}")


def markdown(rows: list[dict[str, Any]]) -> str:
    """A table whose columns are all the keys in the order they first appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(_cell(row.get(c, "")) for c in columns) + " |" for row in rows])


def write_section(name: str, body: str) -> None:
    """Puts one section in its place; the others stay."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else HEAD
    where = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
    where += ", ".join(f"{p} {version(p)}" for p in ("numpy", "numba", "scikit-learn"))
    stamp = f"*{datetime.now(UTC):%Y-%m-%d}, {where}, `python -m tests.bench {name}`*"
    section = f"<!-- {name} -->\n## {SECTIONS[name]}\n\n{body}\n\n{stamp}\n<!-- /{name} -->"
    place = re.compile(rf"<!-- {name} -->.*?<!-- /{name} -->", re.DOTALL)
    text = place.sub(lambda _: section, text) if place.search(text) else f"{text.rstrip()}\n\n{section}\n"
    RESULTS.write_text(text, encoding="utf-8")


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
