"""Sections of figures: written in their place, with the command that makes them again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.recipes import load_recipe
from infra.cli import results
from infra.cli.results import write_experiment, write_section


@dataclass
class Part:
    """Stands for a report or for curves."""

    folder: str = ""
    setting: str = "n_topics"
    pictures: tuple[str, ...] = ()

    def markdown(self, level: str) -> str:
        return f"{level} a table\n\n| figures |\n"


@dataclass
class Result:
    reports: list[Part]
    curves: list[Part]


def test_a_section_is_replaced_in_its_place_and_the_others_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for name in ("first", "second"):
        write_section(page, name, f"The {name}", "| old |", f"make {name}")
    write_section(page, "first", "The first", r"| new \1 |", "make first")
    text = page.read_text()
    assert text.index("<!-- first -->") < text.index(r"| new \1 |") < text.index("<!-- second -->") < text.index("old")
    assert (text.count("| old |"), text.count("## The first"), text.count("`make first`*")) == (1, 1, 1)


def test_only_pages_of_ours_begin_with_our_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "docs" / "results")
    results.RESULTS.mkdir(parents=True)
    theirs, ours = tmp_path / "notes.md", results.RESULTS / "new.md"
    for page in (theirs, ours):
        write_section(page, "first", "The first", "| figures |", "make first")
    assert theirs.read_text().startswith("<!-- first -->\n## The first\n")
    assert ours.read_text().startswith(f"{results.HEAD}\n<!-- first -->\n")
    theirs.write_text("# My notes\n")
    write_section(theirs, "first", "The first", "| figures |", "make first")
    assert theirs.read_text().startswith("# My notes\n\n<!-- first -->\n")


@pytest.mark.parametrize(
    ("arguments", "name", "command"),
    [
        ({"data": None}, "linear", "tagflow experiment linear"),
        ({"data": "some/where/bibtex"}, "linear on bibtex", "tagflow experiment linear --data bibtex"),
        (
            {"data": "bibtex", "settings": ["seeds=[0]", "split.test=3"]},
            "linear on bibtex with seeds=[0] with split.test=3",
            "tagflow experiment linear --data bibtex -s 'seeds=[0]' -s split.test=3",
        ),
    ],
)
def test_an_experiment_names_its_section_and_the_whole_command(
    tmp_path: Path, arguments: dict[str, Any], name: str, command: str
) -> None:
    page = tmp_path / "linear.md"
    result: Any = Result([Part()], [])
    write_experiment(page, load_recipe("linear", {}), result, preset="linear", **arguments)
    text = page.read_text()
    assert f"<!-- {name} -->\n## Experiment: {name}\n\n{load_recipe('linear', {}).about}\n\n### a table" in text
    assert f"`{command}`*\n<!-- /{name} -->" in text


def test_no_path_of_the_machine_is_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    result: Any = Result([Part()], [])
    recipe = load_recipe("linear", {})
    write_experiment(page, recipe, result, preset=str(tmp_path / "mine.toml"), data=str(tmp_path / "bibtex"))
    assert "`tagflow experiment mine.toml --data bibtex`*" in page.read_text()
    assert str(tmp_path) not in page.read_text()


def test_a_folder_of_sets_is_one_section(tmp_path: Path) -> None:
    page = tmp_path / "linear.md"
    recipe = load_recipe("linear", {"grid": {"data.source": ["data/bibtex", "data/enron"]}})
    result: Any = Result([Part(), Part()], [])
    write_experiment(page, recipe, result, preset="linear", data="data", without=["medical"])
    assert (
        "`tagflow experiment linear --data data --without medical`*\n<!-- /linear on data without medical -->"
        in page.read_text()
    )


def test_pictures_of_curves_are_copied_beside_the_page(tmp_path: Path) -> None:
    curves = tmp_path / "reports" / "linear-on-bibtex"
    curves.mkdir(parents=True)
    (curves / "curves.png").write_bytes(b"a picture")
    page = tmp_path / "docs" / "linear.md"
    page.parent.mkdir()
    result: Any = Result([Part()], [Part(str(curves))])
    write_experiment(page, load_recipe("linear", {}), result, preset="linear", data="bibtex")
    assert "![quality against n_topics](pictures/linear-on-bibtex.png)" in page.read_text()
    assert (page.parent / "pictures" / "linear-on-bibtex.png").read_bytes() == b"a picture"


def test_figures_of_a_report_are_copied_too(tmp_path: Path) -> None:
    report = tmp_path / "reports" / "pmm-on-bibtex"
    report.mkdir(parents=True)
    (report / "figures.png").write_bytes(b"a picture")
    page = tmp_path / "pmm.md"
    result: Any = Result([Part(str(report), pictures=("figures.png",))], [])
    write_experiment(page, load_recipe("pmm", {}), result, preset="pmm", data="bibtex")
    assert "![figures](pictures/pmm-on-bibtex-figures.png)" in page.read_text()
    assert (tmp_path / "pictures" / "pmm-on-bibtex-figures.png").read_bytes() == b"a picture"
