"""The version: written in pyproject.toml alone."""

import re
import tomllib
from pathlib import Path

import tagcore
from tests.command import Tagflow

ROOT = Path(__file__).parents[3]


def test_the_command_says_what_pyproject_says(tmp_path: Path) -> None:
    said = Tagflow(tmp_path)("--version")
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (said.returncode, said.stdout, said.stderr) == (0, f"tagflow {stated}\n", "")


def test_no_module_has_a_version_of_its_own() -> None:
    files = [path for folder in ("tagcore", "tasks", "flows", "infra") for path in (ROOT / folder).rglob("*.py")]
    assert not [path for path in files if re.search(r"^_*version_* *= *[\"']", path.read_text(), re.IGNORECASE | re.M)]
    assert not hasattr(tagcore, "__version__")
