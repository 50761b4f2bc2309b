"""Nights of a crawled site, as an operator would see them: what comes reaches the corpus and redoes what it touches."""

import re
from pathlib import Path

import pytest

from tagcore.corpus import Corpus
from tasks.demo_site.server import served
from tasks.demo_site.site import CHANGED, NEW, VANISHED, DemoSite

RECIPE = """
name = "margin-{notes}"

[data]
name = "margin-{notes}"
local = true
crawl = {{ per_host = 16 }}

[[models]]
model = "Popular"
"""
STEP = re.compile(r"^([=✓]) (.+?)(?: \(|: stands already)", re.MULTILINE)


@pytest.fixture(scope="module", params=[10 * NEW, pytest.param(5000, marks=pytest.mark.slow)])
def nights(request, tagflow, tmp_path_factory):
    """Runs of three nights, the second without news: notes, what each told, and what corpora stand after it."""
    notes = request.param
    recipe = tmp_path_factory.mktemp("recipe") / "margin.toml"
    recipe.write_text(RECIPE.format(notes=notes))
    told, corpora, port = [], [], 0
    others = set((tagflow.home / "data").glob("corpus-*"))  # of other tests
    for night in (1, 1, 2):
        with served(DemoSite(notes, night=night), port=port) as address:
            port = int(address.rpartition(":")[2])
            done = tagflow("run", "--data", f"{address}/", "--recipe", str(recipe))
        assert done.returncode == 0, done.stderr
        told.append(done.stderr)
        stored = set((tagflow.home / "data").glob("corpus-*")) - others
        corpora.append(sorted(stored, key=lambda path: path.stat().st_mtime))
    return notes, told, corpora


def steps(told: str) -> dict[str, str]:
    return {name: mark for mark, name in STEP.findall(told)}


def documents(folder: Path) -> dict[str, dict]:
    return {row["id"]: row for row in Corpus.load(folder).documents.to_pylist()}


def test_exactly_what_is_new_changed_or_gone_reaches_the_corpus(nights):
    notes, told, corpora = nights
    assert [len(found) for found in corpora] == [1, 1, 2]
    before, after = (documents(folder) for folder in corpora[-1])
    assert len(before) == notes
    assert len(after.keys() - before) == NEW
    assert before.keys() <= after.keys()  # what is gone stays, marked
    assert sum(row["vanished_at"] is not None for row in after.values()) == VANISHED
    kept = ("url", "title", "text", "language")
    assert sum(any(after[i][c] != row[c] for c in kept) for i, row in before.items()) == CHANGED
    assert list(after)[:notes] == list(before)
    counted = f"{NEW} new, {CHANGED} changed, {notes - CHANGED - VANISHED + 1:,} same, {VANISHED} vanished"
    assert counted in told[2]


def test_only_the_steps_that_depend_on_the_news_run(nights):
    notes, told, _ = nights
    first, quiet, news = map(steps, told)
    depend = (f"read margin-{notes}", "train Popular", "measure Popular")
    for name in depend:
        assert (first[name], news[name]) == ("✓", "✓"), name
    made = {name.split(" version")[0] for name, mark in quiet.items() if mark == "✓"}
    assert made == {f"crawl margin-{notes}", f"compare margin-{notes}"}  # what is known by these alone
    assert set(depend) <= set(quiet)
