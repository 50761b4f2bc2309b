"""Many nights in a row, as an operator would see them: growing data, a poisoned night, half-written files, two at once,
and power cuts."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from infra.stack.prefect import server_status
from tagcore.store.datasets import Dataset, stored_kind
from tagcore.tagger import Tagger
from tasks.registry.client import EVALUATION_KEY, require_reachable
from tasks.registry.local import champions_here
from tasks.workspace import open_workspace

THEMES = [f"theme{t}" for t in range(8)]
WORDS = [f"word{w}" for w in range(400)]
RECIPE = """
name = "nights"

[features]
min_df = 2

[[models]]
model = "KNN"

[[models]]
model = "Popular"
"""


def documents(n: int, first: int = 0) -> list[dict]:
    """n of an endless corpus: words of a theme among words of no theme, so that more documents teach more."""
    made = []
    for number in range(first, first + n):
        rng = np.random.default_rng(number)
        theme = int(rng.integers(len(THEMES)))
        own = rng.integers(40, size=3) + 40 * theme
        words = [WORDS[w] for w in (*own, *rng.integers(len(WORDS), size=8))]
        made.append({"id": f"d{number}", "text": " ".join(words), "tags": [THEMES[theme]]})
    return made


def write(path: Path, made: list[dict]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in made))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "nights.toml").write_text(RECIPE)
    return tmp_path


def run(tagflow, place: Path) -> tuple[int, dict, str]:
    done = tagflow("run", "--data", str(place / "notes.jsonl"), "--recipe", str(place / "nights.toml"), "--json")
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else {}, done.stderr


def in_service(tagflow) -> dict:
    (model,) = tagflow.json("models")["models"]
    return model


def state(tagflow) -> tuple[dict, str]:
    """What is in service, and what the next night will go on from."""
    return in_service(tagflow), (tagflow.home / "nights" / "nights-notes.json").read_text()


def right(tagflow) -> float:
    """How often the first tag of the champion is right, on documents that no night has."""
    (champion,) = champions_here(tagflow.home / "mlflow.db").values()
    fresh = documents(600, first=1_000_000)
    given = Tagger.load(champion.folder).suggest([one["text"] for one in fresh], k=1)
    return float(np.mean([best.tag in one["tags"] for (best,), one in zip(given, fresh, strict=True)]))


@pytest.mark.slow
def test_ten_nights(tagflow_at, place):
    tagflow = tagflow_at(place / "home")
    champion, qualities, notes = None, [], place / "notes.jsonl"
    for night in range(10):
        n = 300 + 150 * night
        made = documents(n)
        if night == 5:  # somebody swapped the tags of what came in
            for one in made[300 + 150 * 4 :]:
                one["tags"] = [THEMES[(THEMES.index(one["tags"][0]) + 3) % len(THEMES)]]
            swapped = made[300 + 150 * 4 :]
            made += [one | {"id": f"{one['id']}-again{copy}"} for one in swapped for copy in range(3)]
        write(notes, made)
        if night == 7:  # the crawl had written half a line when it died
            whole, before = notes.read_bytes(), state(tagflow)
            notes.write_bytes(whole[: whole.index(b"\n", len(whole) // 2) + 40])
        code, outcome, told = run(tagflow, place)
        if night == 7:
            assert code == 1
            assert "notes.jsonl" in told
            assert state(tagflow) == before
            continue
        assert code == 0, told
        decision = outcome["decision"]
        if night == 5:
            assert not decision["promoted"]
            refused = {guard["name"] for guard in decision["guards"] if not guard["passed"]}
            assert refused & {"newest documents", "older documents", "leak"}
            assert any(name in decision["reason"] for name in refused)
            assert in_service(tagflow)["version"] == champion
            continue
        if decision["promoted"]:
            champion = decision["challenger"]
            qualities.append(right(tagflow))
        assert in_service(tagflow)["version"] == champion
    assert len(qualities) >= 3
    assert qualities[-1] > qualities[0] + 0.1, qualities

    # a file that ends between two lines is read without complaint: the guard of documents refuses it
    write(notes, documents(600))
    _, outcome, _ = run(tagflow, place)
    assert not outcome["decision"]["promoted"]
    assert "documents: 600 documents, needed at least 70%" in outcome["decision"]["reason"]
    assert in_service(tagflow)["version"] == champion


@pytest.mark.slow
def test_two_nights_at_once_on_one_corpus(tagflow_at, place):
    tagflow = tagflow_at(place / "home")
    write(place / "notes.jsonl", documents(300))
    tagflow("status")
    command = tagflow.command(
        "run", "--data", str(place / "notes.jsonl"), "--recipe", str(place / "nights.toml"), "--json"
    )
    both = [
        subprocess.Popen(command, env=tagflow.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=1200) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert sum("wait for another run of nights-notes" in told for _, told in outputs) == 1
    decisions = [json.loads(out)["decision"] for out, _ in outputs]
    assert sorted(decision["promoted"] for decision in decisions) == [False, True]
    assert in_service(tagflow)["versions"] == 1
    check_stores(tagflow)
    assert not list((tagflow.home / "data").glob("damaged-*"))


def left_of(home: Path) -> list[psutil.Process]:
    """Processes of this state folder but for its Prefect server, which serves the runs to come."""
    found = []
    for process in psutil.process_iter():
        try:
            of_it = process.environ().get("TAGFLOW_HOME") == str(home)
            server = "prefect_server" in " ".join(process.cmdline())
        except (psutil.Error, OSError):
            continue
        if of_it and not server and process.pid != os.getpid():
            found.append(process)
    return found


def check_stores(tagflow) -> None:
    """Every result that stands is whole, the nights can be read, and no evaluation has two versions."""
    for folder in (tagflow.home / "data").glob("[!.]*"):
        Dataset.open(folder, stored_kind(folder))
    json.loads((tagflow.home / "nights" / "nights-notes.json").read_text())
    registry = open_workspace(home=tagflow.home).registry
    require_reachable(registry)
    with registry.open() as client:
        versions = client.search_model_versions("name = 'nights-notes'", max_results=1000)
    evaluations = [version.tags[EVALUATION_KEY] for version in versions]
    assert len(evaluations) == len(set(evaluations))


@pytest.mark.slow
def test_power_cuts_at_ten_random_moments(tagflow_at, place):
    tagflow = tagflow_at(place / "home")
    command = tagflow.command("run", "--data", str(place / "notes.jsonl"), "--recipe", str(place / "nights.toml"))

    def start() -> subprocess.Popen:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, env=tagflow.environment(), start_new_session=True, **quiet)

    for n in (300, 315):  # the second night finds a server, as those that are cut do
        write(place / "notes.jsonl", documents(n))
        begun = time.monotonic()
        assert start().wait() == 0
        seconds = time.monotonic() - begun
    champion, moments, cuts = int(in_service(tagflow)["version"]), random.Random(0), []
    for night in range(40):
        write(place / "notes.jsonl", documents(330 + 15 * night))
        process, moment = start(), moments.uniform(0.05, 1.0) * seconds
        time.sleep(moment)
        if process.poll() is None:  # else the night was faster than the one before
            os.killpg(process.pid, signal.SIGKILL)
            cuts.append(moment)
        process.wait()
        check_stores(tagflow)
        assert int(in_service(tagflow)["version"]) >= champion
        assert tagflow("tag", "word1 word2 word3").returncode == 0
        assert psutil.wait_procs(left_of(tagflow.home), timeout=10)[1] == []
        if len(cuts) == 10:
            break
    assert len(cuts) == 10, cuts
    write(place / "notes.jsonl", documents(1200))
    code, outcome, told = run(tagflow, place)
    assert code == 0, told
    check_stores(tagflow)
    versions = in_service(tagflow)["versions"]
    code, again, told = run(tagflow, place)
    assert code == 0, told
    assert in_service(tagflow)["versions"] == versions
    assert again["decision"]["challenger"] == outcome["decision"]["challenger"]
    assert tagflow("down").returncode == 0
    assert server_status(tagflow.home) is None
