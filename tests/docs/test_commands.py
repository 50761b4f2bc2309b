"""What the pages tell to type works and does what they say."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")) if kind == language]


def test_the_readmes_python_runs_and_ends_with_names_of_tags(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("README.md", "python")
    known = {"texts": ["flour yeast", "pedal chain", "flour oven"], "tags": [["bread"], ["bike"], ["bread"]]}
    exec(code, known)
    assert [row[0] for row in known["names"]] == ["bread", "bike", "bread"]
    assert known["margins"].shape == (3, 2)
    assert {tag for tag, _ in known["suggested"][0]} == {"bread", "bike"}


def test_mlflows_own_commands_are_told_not_to_report():
    for page in ("README.md", "docs/operations.md", "docs/cluster.md"):
        for code in blocks(page, ""):
            if re.search(r"mlflow (server|models)", code):
                assert "MLFLOW_DISABLE_TELEMETRY=true" in code, page
                assert "DO_NOT_TRACK=true" in code, page


def test_the_pages_say_when_a_stream_equals_one_fit_and_who_calls_it():
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    (stream,) = [line for line in text.splitlines() if "partial_fit" in line and "bit for bit" in line]
    assert "shuffle=False" in stream
    assert "nightly updates" not in text
