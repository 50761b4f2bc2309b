"""Bad input gives one clear message and a non-zero exit, and changes nothing that stood before."""

import gzip
import json
import os

import pytest


def jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def tagged(n, **more):
    return [{"id": str(i), "text": f"word{i % 7} other{i % 3} text", "tags": [f"t{i % 3}"], **more} for i in range(n)]


def truncated_gzip(path):
    packed = gzip.compress("".join(json.dumps(row) + "\n" for row in tagged(500)).encode())
    path.write_bytes(packed[: len(packed) // 2])
    return path


CASES = {
    "empty corpus": (lambda d: jsonl(d / "a.jsonl", []), "no documents"),
    "no tags": (lambda d: jsonl(d / "a.jsonl", tagged(30, tags=[])), "none of its 30 documents has a tag"),
    "no words": (lambda d: jsonl(d / "a.jsonl", tagged(30, text="")), "empty vocabulary"),
    "one tag only": (lambda d: jsonl(d / "a.jsonl", tagged(30, tags=["same"])), "all documents share one tag"),
    "duplicate ids": (lambda d: jsonl(d / "a.jsonl", tagged(30, id="7")), "7"),
    "NaN count": (lambda d: jsonl(d / "a.jsonl", tagged(30, tags=[{"tag": "a", "count": float("nan")}])), "count"),
    "negative count": (lambda d: jsonl(d / "a.jsonl", tagged(30, tags=[{"tag": "a", "count": -2}])), "-2"),
    "wrong type": (lambda d: jsonl(d / "a.jsonl", tagged(30, text=5)), "text"),
    "truncated gzip": (lambda d: truncated_gzip(d / "a.jsonl.gz"), "a.jsonl.gz"),
    "missing file": (lambda d: d / "none.jsonl", "none.jsonl"),
}


@pytest.fixture(scope="module")
def standing(tagflow):
    """A run that must survive whatever comes after it."""
    small = ("--set", "name=standing", "--set", "data.documents=300", "--set", "data.source=demo")
    return tagflow.json("run", *small, "--set", "models=[{model='Popular'}]")


def snapshot(home):
    return {str(p.relative_to(home)): p.stat().st_size for p in (home / "data").rglob("*") if p.is_file()}


@pytest.mark.parametrize("case", CASES)
def test_bad_data(tagflow, standing, tmp_path, case):
    make, message = CASES[case]
    source = make(tmp_path)
    before = snapshot(tagflow.home)
    done = tagflow("run", "--data", str(source))
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("tagflow: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert str(source) in errors[0]  # what a person typed, not where it is stored
    assert "Traceback" not in done.stderr
    after = snapshot(tagflow.home)
    assert before.items() <= after.items()
    assert not [name for name in after if "/." in name]  # nothing half-made is left behind


def test_bad_rows_can_be_left_out_and_are_listed(tagflow, tmp_path):
    rows = tagged(60)
    rows[5]["text"] = 5
    done = tagflow("ingest", str(jsonl(tmp_path / "a.jsonl", rows)), "--skip-bad-rows", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["counts"]["documents"] == 59
    side_file = found["corpus"] + "/rejected.jsonl"
    assert f"1 bad row left out, see {side_file}" in done.stderr
    with open(side_file) as file:
        (rejected,) = map(json.loads, file)
    assert rejected["line"] == 6
    assert "text" in rejected["reason"]
    again = tagflow("ingest", str(tmp_path / "a.jsonl"), "--skip-bad-rows")
    assert f"stands already: 1 bad row left out, see {side_file}" in again.stderr


def test_ingest_takes_the_options_of_a_reader_and_tells_how_tags_split(tagflow, tmp_path):
    table = tmp_path / "a-2026-11-16.csv"
    table.write_text("abstract|labels\nred apples|fruit;red\nblue sky|blue\n")
    done = tagflow("ingest", str(table))
    assert "name the right one by text=NAME (--option text=NAME" in done.stderr
    options = ("--option", "text=abstract", "--option", "tags=labels")
    done = tagflow("ingest", str(table), *options, "--name", "mine", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["counts"] == {"documents": 2, "taggings": 3, "tags": 3}
    assert "read mine" in done.stderr
    assert "tags are split at ';' (such as 'fruit', 'red'), which the option tag_separator changes" in done.stderr
    again = tagflow("ingest", str(table.rename(tmp_path / "a-2026-11-17.csv")), *options)
    assert "stands already" in again.stderr


def test_a_registry_out_of_reach_stops_before_any_work(tagflow, standing):
    before = snapshot(tagflow.home)
    args = ("run", "--set", "data.documents=321")
    done = tagflow(*args, env={"TAGFLOW_MLFLOW": "http://127.0.0.1:9"})
    assert done.returncode == 1
    assert "registry http://127.0.0.1:9: cannot be reached" in done.stderr
    assert snapshot(tagflow.home) == before


def test_a_home_that_cannot_be_written_to(tagflow_at, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = tagflow_at(blocked / "home")("run")
    assert done.returncode == 1
    assert "cannot be written to" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home(tagflow_at, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    done = tagflow_at(tmp_path / "locked" / "home")("run")
    assert done.returncode == 1
    assert "cannot be written to" in done.stderr
