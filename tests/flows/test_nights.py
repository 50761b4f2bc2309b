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

from tagcore.tagger import Tagger
from tasks.registry.client import require_reachable
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
    assert not list((tagflow.home / "data").glob("damaged-*"))


def left_of(home: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            of_it = process.environ().get("TAGFLOW_HOME") == str(home)
            server = "prefect_server" in " ".join(process.cmdline())  # it stays between runs
        except (psutil.Error, OSError):
            continue
        if of_it and not server and process.pid != os.getpid():
            found.append(process)
    return found


@pytest.mark.slow
def test_power_cuts_at_ten_random_moments(tagflow_at, place):
    tagflow = tagflow_at(place / "home")
    write(place / "notes.jsonl", documents(300))
    code, outcome, told = run(tagflow, place)
    assert code == 0, told
    seconds = outcome["account"]["total_seconds"]
    champion, moments = outcome["decision"]["challenger"], random.Random(0)
    for cut in range(10):
        write(place / "notes.jsonl", documents(330 + 30 * cut))
        command = tagflow.command("run", "--data", str(place / "notes.jsonl"), "--recipe", str(place / "nights.toml"))
        process = subprocess.Popen(
            command,
            env=tagflow.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(moments.uniform(0.1, 1.0) * seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        workspace = open_workspace(home=tagflow.home)
        require_reachable(workspace.registry)
        assert int(in_service(tagflow)["version"]) >= int(champion)
        assert tagflow("tag", "word1 word2 word3").returncode == 0
        assert left_of(tagflow.home) == []
    write(place / "notes.jsonl", documents(900))
    code, outcome, told = run(tagflow, place)
    assert code == 0, told
    versions = in_service(tagflow)["versions"]
    code, again, told = run(tagflow, place)
    assert code == 0, told
    assert in_service(tagflow)["versions"] == versions
    assert again["decision"]["challenger"] == outcome["decision"]["challenger"]
