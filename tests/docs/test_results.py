"""Tables of figures: each stands in one place, below the command that writes it there; the first page is short."""

import re
import shlex
from collections import Counter
from pathlib import Path

from tests.bench.__main__ import ALL_SECTIONS

DOCS = Path(__file__).parents[2] / "docs"
SECTION = re.compile(r"<!-- ([^/].*?) -->\n## (.*?)\n(.*?)<!-- /\1 -->", re.DOTALL)
COMMAND = re.compile(r"\*\d{4}-\d\d-\d\d, .*, `([^`]+)`\*\n\Z")
SCREEN = 60  # lines


def sections() -> list[tuple[str, str, str, str]]:
    """(page, name, title, command) of every section."""
    pages = sorted((DOCS / "results").glob("*.md"))
    return [
        (page.stem, name, title, (COMMAND.findall(body) or [""])[0])
        for page in pages
        for name, title, body in SECTION.findall(page.read_text(encoding="utf-8"))
    ]


def test_every_section_ends_with_a_command_of_its_own() -> None:
    assert all(command for *_, command in sections()), [name for _, name, _, command in sections() if not command]
    assert max(Counter(command for *_, command in sections()).values()) == 1


def test_no_page_has_a_table_outside_of_a_section() -> None:
    for page in (DOCS / "results").glob("*.md"):
        assert "\n|" not in SECTION.sub("", page.read_text(encoding="utf-8")), page


def test_benchmarks_write_where_their_section_stands() -> None:
    written = {name: (page, title) for page, name, title, command in sections() if "tests.bench" in command}
    assert written == {name: tuple(ALL_SECTIONS[name]) for name in written}
    assert len(written) > 10


def test_a_section_is_named_by_its_command() -> None:
    for _, name, _, command in sections():
        program, _, arguments = command.partition("tests.bench ")
        if arguments:
            assert (program, arguments.partition(" --set ")[0]) == ("python -m ", name)
        else:
            told = {"tagflow": "", "experiment": "", "--data": "on", "--without": "without", "-s": "with"}
            words = (told.get(word, word) for word in shlex.split(command))
            assert " ".join(filter(None, words)) == name


def test_the_first_page_is_one_screen_without_tables_of_its_own() -> None:
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= SCREEN
    assert "<!--" not in text
