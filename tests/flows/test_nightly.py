"""The whole job, as a user sees it: run, run again, get killed, promote, refuse to promote."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

SMALL = ("--set", "data.documents=600", "--set", "features.min_df=2")


@pytest.fixture(scope="module")
def first(tagflow):
    return tagflow.json("run", *SMALL)


def stored(home: Path) -> dict[str, int]:
    """Every stored result with the time it was made."""
    return {p.parent.name: p.stat().st_mtime_ns for p in (home / "data").glob("*/manifest.json")}


def test_the_first_run_compares_promotes_and_suggests(tagflow, first):
    rows = {row["model"]: row for row in first["report"]["rows"]}
    assert set(rows) == {"Popular", "KNN", "OneVsRestLinear"}
    assert first["report"]["rows"][-1]["model"] == "Popular"
    for row in rows.values():
        measure = row["measures"]["P@1"]
        assert 0 < measure["low"] < measure["value"] < measure["high"] < 1
    assert rows["OneVsRestLinear"]["measures"]["P@1"]["value"] > 2 * rows["Popular"]["measures"]["P@1"]["value"]
    assert first["decision"]["promoted"]
    reason, _, why = first["decision"]["reason"].partition("; ")
    assert reason == "no model was in service"
    leader = max(rows.values(), key=lambda row: row["measures"][first["decision"]["measure"]]["value"])["model"]
    challenger = first["decision"]["model"]
    assert why.startswith(f"{challenger} challenges because its probabilities") == (challenger != leader)
    assert len(first["examples"]) == 3
    assert all(len(e["suggested"]) == 5 and e["text"].strip() for e in first["examples"])
    folder = Path(first["report"]["folder"])
    assert "| model |" in (folder / "report.md").read_text()
    assert (folder / "comparison.png").read_bytes()[:4] == b"\x89PNG"


def test_no_pickle_is_stored_and_tagcore_is_shipped(tagflow, first):
    files = [p for p in (tagflow.home / "mlartifacts").rglob("*") if p.is_file()]
    assert any(p.name == "tagger.py" and p.parent.name == "tagcore" for p in files)
    assert any(p.name == "state.safetensors" for p in files)
    assert [p for p in files if p.suffix in (".pkl", ".pickle", ".joblib", ".cloudpickle")] == []
    assert [p for p in files if p.read_bytes()[:2] in (b"\x80\x04", b"\x80\x05")] == []


def test_losers_are_tracked_and_the_winner_is_stored_once(tagflow, first):
    states = list((tagflow.home / "mlartifacts" / "demo").rglob("state.safetensors"))
    assert len(states) == 1
    stored = (tagflow.home / "data").glob("model-*/model/state.safetensors")
    assert sum(states[0].samefile(path) for path in stored) == 1
    (model,) = [one for one in tagflow.json("models")["models"] if one["name"] == "demo"]
    assert (model["version"], model["versions"]) == (first["decision"]["challenger"], 1)
    assert (model["why"], model["data"]) == (first["decision"]["reason"], "demo-site")
    assert model["label"] == first["decision"]["model"]
    assert model["quality"].startswith("P@1 0.")


def test_plots_tables_and_card_are_on_the_runs(tagflow, first):
    names = {p.name for p in (tagflow.home / "mlartifacts").rglob("*")}
    assert {"quality_at_k.png", "calibration.png", "tags.png", "per_tag.json", "model_card.md"} <= names


def test_a_second_run_redoes_no_finished_step(tagflow, first):
    before = stored(tagflow.home)
    again = tagflow.json("run", *SMALL)
    assert stored(tagflow.home) == before
    assert again["account"]["work_seconds"] == 0
    assert not again["decision"]["promoted"]
    assert again["decision"]["reason"] == "it is the model in service already"
    assert again["decision"]["challenger"] == first["decision"]["challenger"]
    assert again["report"]["rows"] == first["report"]["rows"]


def test_the_champion_tags_text_files_and_standard_input(tagflow, first, tmp_path):
    text, model = first["examples"][0]["text"], ("--model", first["model"])
    expected = [tag for tag, _ in first["examples"][0]["suggested"]]
    found = json.loads(tagflow("tag", text, "--json", *model).stdout)
    assert [t["tag"] for t in found["tags"]] == expected
    one_line = " ".join(text.split())
    (tmp_path / "texts.txt").write_text(f"{one_line}\n{one_line}\n")
    from_file = tagflow("tag", "--file", str(tmp_path / "texts.txt"), "-k", "2", *model).stdout.splitlines()
    assert len(from_file) == 2
    assert [cell.split()[0] for cell in from_file[0].split("\t")] == expected[:2]
    assert json.loads(tagflow("tag", "--json", *model, stdin=one_line).stdout)["tags"] == found["tags"]
    unknown = tagflow("tag", "zzz qqq", *model)
    assert unknown.returncode == 0
    assert "no word of this text is known" in unknown.stderr


def stored_model(home: Path, name: str) -> Path:
    heads = sorted((home / "data").glob("model-*/model/model.json"))
    return next(head.parents[1] for head in heads if json.loads(head.read_text())["class"] == name)


def test_a_linear_model_explains_its_tags(tagflow, first):
    text, model = first["examples"][0]["text"], str(stored_model(tagflow.home, "OneVsRestLinear"))
    shown = tagflow("tag", text, "--model", model, "-k", "2", "--explain", "--words", "3")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("why ") == 2
    assert "(always)" in shown.stdout
    found = json.loads(tagflow("tag", text, "--model", model, "-k", "2", "--explain", "--words", "3", "--json").stdout)
    for tag in found["tags"]:
        pushes = [abs(word["push"]) for word in tag["words"]]
        assert len(pushes) == 3
        assert pushes == sorted(pushes, reverse=True)
        assert all(word["word"] in text.lower() for word in tag["words"])
        assert isinstance(tag["bias"], float)


def test_a_model_that_cannot_explain_says_so_in_one_line(tagflow, first):
    text, model = first["examples"][0]["text"], str(stored_model(tagflow.home, "KNN"))
    done = tagflow("tag", text, "--model", model, "--explain")
    assert done.returncode == 0
    assert "KNN cannot explain its suggestions; these models can: " in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    labelled = json.loads(tagflow("tag", text, "--model", model, "--label", "--json").stdout)["tags"]
    assert all(tag["score"] > 0.5 and "words" not in tag for tag in labelled)


def test_a_killed_run_goes_on_from_what_stands(tagflow, tmp_path):
    args = ("run", "--set", "data.documents=700", "--set", "name=killed")
    process = subprocess.Popen(
        tagflow.command(*args), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=tagflow.environment()
    )
    for line in process.stderr:
        if "train Popular" in line:
            os.kill(process.pid, signal.SIGKILL)
            break
    process.wait(timeout=600)
    assert process.returncode == -signal.SIGKILL
    time.sleep(0.2)
    before = stored(tagflow.home)
    again = tagflow(*args)
    assert again.returncode == 0, again.stderr
    assert all(
        f"= {step}: stands already" in again.stderr
        for step in ("crawl the demonstration site", "build features", "train Popular")
    )
    assert "✓ measure OneVsRestLinear" in again.stderr
    assert before.items() <= stored(tagflow.home).items()
    assert not list((tagflow.home / "data").glob("damaged-*"))


def test_the_champion_moves_only_beyond_the_interval(tagflow):
    def run(model: str, *more: str) -> dict:
        settings = ("--set", f"models=[{{model='{model}'}}]", "--set", "name=contest")
        return tagflow.json("run", *SMALL, *settings, *more)["decision"]

    refused = run("Popular")
    assert not refused["promoted"]  # never one that is no better than Popular
    assert refused["reason"].startswith("no better than Popular")
    assert run("Popular", "--set", "promotion.floor=false")["promoted"]
    better = run("OneVsRestLinear")
    assert better["promoted"]
    assert 0 < better["low"] < better["difference"] < better["high"]
    assert better["champion"] == "1"
    worse = run("Popular")
    assert not worse["promoted"]
    assert worse["high"] < 0
    assert worse["difference"] == pytest.approx(-better["difference"])
    assert worse["champion"] == better["challenger"]


def test_a_damaged_result_is_made_again(tagflow, first):
    for state in (tagflow.home / "data").glob("model-*/model/state.safetensors"):
        if "Popular" in state.with_name("model.json").read_text():
            state.write_bytes(state.read_bytes()[:-8])
    again = tagflow("run", *SMALL)
    assert again.returncode == 0, again.stderr
    assert "✓ train Popular" in again.stderr
    assert "= train KNN: stands already" in again.stderr
    assert len(list((tagflow.home / "data").glob("damaged-*"))) == 1
