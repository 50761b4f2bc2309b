"""The command itself: quick to start, teaching, and clear about mistakes."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numba", "sklearn", "pandas", "prefect", "mlflow", "dask", "pydantic_settings")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from infra.cli.main import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stderr.strip() == "[]"
    assert all(name in done.stdout for name in ("run", "train", "experiment", "tag", "doctor"))


@pytest.mark.parametrize(
    "command",
    [
        "run",
        "train",
        "experiment",
        "ingest",
        "tag",
        "doctor",
        "up",
        "down",
        "status",
        "open",
        "logs",
        "schedule",
        "models",
        "promote",
        "rollback",
        "report",
        "clean",
    ],
)
def test_every_command_explains_itself(tagflow, command):
    done = tagflow(command, "--help")
    assert done.returncode == 0
    assert len(done.stdout) > 100


def test_doctor_checks_this_machine(tagflow):
    found = {c["name"]: c for c in tagflow.json("doctor")["checks"]}
    assert found["numba"]["state"] == "ok"
    assert {"Python", "prefect", "mlflow", "state folder", "registry"} <= set(found)


def test_doctor_fails_where_the_registry_is_out_of_reach(tagflow):
    done = tagflow("doctor", "--json", env={"TAGFLOW_MLFLOW": "http://127.0.0.1:9"})
    assert done.returncode == 1
    states = {c["name"]: c["state"] for c in json.loads(done.stdout)["checks"]}
    assert states["registry"] == "bad"


def test_train_measures_one_model_with_parameters(tagflow):
    settings = ("--set", "data.documents=300", "--param", "n_neighbors=3")
    report = tagflow.json("train", "KNN", *settings)["reports"][0]
    assert [row["model"] for row in report["rows"]] == ["KNN n_neighbors=3"]


def test_experiment_spans_models_seeds_and_settings(tagflow, tmp_path):
    recipe = tmp_path / "grid.toml"
    recipe.write_text("""
seeds = [0, 1]
[data]
documents = 300
[grid]
"features.sublinear_tf" = [false, true]
[[models]]
model = "Popular"
[[models]]
model = "KNN"
grid = { n_neighbors = [5, 20] }
""")
    (report,) = tagflow.json("experiment", str(recipe))["reports"]
    labels = {row["model"] for row in report["rows"]}
    assert len(labels) == 6
    assert "KNN n_neighbors=20 sublinear_tf=True" in labels
    assert "2 seeds" in report["about"]


def test_a_learning_curve_over_random_splits_with_labelling_rules(tagflow, tmp_path):
    recipe = tmp_path / "curve.toml"
    recipe.write_text("""
seeds = [0, 1]
[data]
documents = 300
[split]
kind = "drawn"
test = 80
redraw = true
[grid]
"split.train_documents" = [50, 150]
[measures]
labelling = ["class-mass", "thresholds"]
[[models]]
model = "PassiveAggressive"
thresholds = "cross-validated"
""")
    found = tagflow.json("experiment", str(recipe), "--into", str(tmp_path / "results.md"))
    few, many = found["reports"]
    assert "2 random splits with 80 held-out documents each" in few["about"]
    values = [report["rows"][0]["measures"]["macro-F1 (class-mass)"]["value"] for report in (few, many)]
    assert 0 < values[0] < values[1]
    (curves,) = found["curves"]
    assert curves["setting"] == "split.train_documents"
    assert curves["measures"] == ["nDCG@5", "macro-F1 (class-mass)", "macro-F1 (thresholds)"]
    assert [(p["line"], p["at"]) for p in curves["points"]] == [
        ("PassiveAggressive thresholds=cross-validated", at) for at in (50, 150)
    ]
    assert (Path(curves["folder"]) / "curves.png").read_bytes()[:4] == b"\x89PNG"
    assert (
        len(list((tagflow.home / "mlartifacts" / "curve-demo").rglob("curves.png"))) == 2
    )  # on the run of each comparison
    assert "nDCG@5 at split.train_documents" in (tmp_path / "results.md").read_text()


def test_experiment_compares_models_on_the_same_documents_alone(tagflow, tmp_path):
    recipe = tmp_path / "sizes.toml"
    recipe.write_text('[grid]\n"data.documents" = [200, 300]\n[[models]]\nmodel = "Popular"\n')
    reports = tagflow.json("experiment", str(recipe))["reports"]
    assert [report["title"][-13:] for report in reports] == ["documents=200", "documents=300"]
    assert all([row["model"] for row in report["rows"]] == ["Popular"] for report in reports)


def test_an_interrupted_run_says_that_it_can_go_on(tagflow):
    process = subprocess.Popen(
        tagflow.command("run", "--set", "data.documents=2000"),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=tagflow.environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test run in the background ignores it
    )
    for line in process.stderr:
        if "crawl the demonstration site" in line:
            process.send_signal(signal.SIGINT)
            break
    _, rest = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "the same command goes on from there" in rest
    assert "Traceback" not in rest


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run", "--recipe", "nope"), "no preset 'nope'; there are"),
        (("run", "--set", "split.test=2.0"), "split.test = 2.0"),
        (("run", "--set", "nonsense"), "expected name=value"),
        (("run", "--set", "feature.stem=english"), "perhaps features is meant; expected one of name, about"),
        (("run", "--data", "/nonexistent/notes.jsonl"), "notes.jsonl: there is no such file or folder"),
        (("ingest", "/nonexistent/notes.jsonl"), "notes.jsonl: there is no such file or folder"),
        (("tag", "--file", "/nonexistent/file"), "there is no such file"),
        (("tag", "x", "--model", "/nonexistent"), "no such folder"),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(tagflow, args, message):
    done = tagflow(*args)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
