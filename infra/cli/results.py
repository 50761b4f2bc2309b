"""Tables of figures in a Markdown file, each section replaced in its place by the command that measures it."""

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tagcore.store.files import write_text

HEAD = """# Measured

Speed is given as ratios to a named peer in the same run; absolute times are of the machine named below each section.
Every section says which command wrote it. `make bench` writes those on speed; the real data sets are read from
`../shared/data`, and without them only what needs none is measured.
"""


def write_section(path: Path, name: str, title: str, body: str, command: str) -> None:
    """Puts one section in its place, or at the end; the others stay."""
    text = path.read_text(encoding="utf-8") if path.exists() else HEAD
    where = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
    where += ", ".join(f"{p} {version(p)}" for p in ("numpy", "numba", "scikit-learn"))
    stamp = f"*{datetime.now(UTC):%Y-%m-%d}, {where}, `{command}`*"
    section = f"<!-- {name} -->\n## {title}\n\n{body.strip()}\n\n{stamp}\n<!-- /{name} -->"
    place = re.compile(rf"<!-- {re.escape(name)} -->.*?<!-- /{re.escape(name)} -->", re.DOTALL)
    text = place.sub(lambda _: section, text) if place.search(text) else f"{text.rstrip()}\n\n{section}\n"
    write_text(path, text)
