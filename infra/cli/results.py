"""Sections of figures in Markdown files, each replaced in its place by the command that measures it."""

import os
import platform
import re
import shlex
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tagcore.store.files import write_text

if TYPE_CHECKING:
    from flows.experiment import ExperimentResult
    from tasks.recipe import Recipe

RESULTS = Path(__file__).parents[2] / "docs" / "results"
HEAD = "# Measured\n\nEach section is written by the command at its end.\n"


def write_section(page: Path, name: str, title: str, body: str, command: str) -> None:
    """Puts one section in its place on the page, or at the end; the others stay. A page of ours begins with a head, a
    user's own with the section."""
    new = HEAD if page.resolve().parent == RESULTS else ""
    text = page.read_text(encoding="utf-8") if page.exists() else new
    machine = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
    machine += ", ".join(f"{p} {version(p)}" for p in ("numpy", "numba", "scikit-learn"))
    stamp = f"*{datetime.now(UTC):%Y-%m-%d}, {machine}, `{command}`*"
    section = f"<!-- {name} -->\n## {title}\n\n{body.strip()}\n\n{stamp}\n<!-- /{name} -->"
    place = re.compile(rf"<!-- {re.escape(name)} -->.*?<!-- /{re.escape(name)} -->", re.DOTALL)
    text = place.sub(lambda _: section, text) if place.search(text) else f"{text.rstrip()}\n\n{section}\n".lstrip()
    write_text(page, text)


def write_experiment(
    page: Path,
    recipe: "Recipe",
    result: "ExperimentResult",
    *,
    preset: str,
    data: str | None,
    without: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> None:
    """Writes an experiment's tables and curves as one section, with the command that makes them again, by which the
    section is named: another command has a section of its own.

    Pictures of figures and curves are copied into the folder `pictures` beside the page.
    """
    name, command = recipe.name, ["tagflow", "experiment", Path(preset).name]
    for option, told, values in (("--data", "on", [data] if data else []), ("--without", "without", without)):
        command += [part for value in values for part in (option, Path(value).name)]
        name += "".join(f" {told} {Path(value).name}" for value in values)
    command += [part for setting in settings for part in ("-s", setting)]
    name += "".join(f" with {setting}" for setting in settings)
    parts = [f"{recipe.about}\n"]
    for report in result.reports:
        parts.append(report.markdown(level="###"))
        folder = Path(report.folder)
        parts += [_picture(page, folder / p, f"{folder.name}-{p}", Path(p).stem) for p in report.pictures]
    for curves in result.curves:
        parts.append(curves.markdown(level="###"))
        folder = Path(curves.folder)
        parts.append(_picture(page, folder / "curves.png", f"{folder.name}.png", f"quality against {curves.setting}"))
    write_section(page, name, f"Experiment: {name}", "\n".join(parts), shlex.join(command))


def _picture(page: Path, drawn: Path, name: str, about: str) -> str:
    """Copies a picture beside the page, and gives the line that shows it there."""
    picture = page.parent / "pictures" / name
    picture.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(drawn, picture)
    return f"![{about}](pictures/{name})\n"
