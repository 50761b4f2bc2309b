"""Rivals as programs of another Python: what they say is measured as our own suggestions are."""

import json
import os
import platform
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from tagcore.features.build import make_features
from tagcore.features.rows import InMemory, StoredRows
from tagcore.features.split import Split
from tagcore.metrics.evaluate_model import evaluate
from tagcore.metrics.evaluation import Evaluation
from tagcore.store.datasets import Dataset
from tagcore.text import Vectoriser
from tasks.costs import folder_megabytes
from tasks.memory import watch_memory
from tasks.progress import listen
from tasks.recipe_settings import MeasureSettings, RivalSettings
from tasks.rivals.measure import _VERSIONS, PROGRAM, GivenScores, _ask, measure_rival, measure_rivals, scores_of
from tasks.rivals.texts import write_texts
from tasks.settings import Settings
from tasks.workspace import Workspace
from tests.tagcore.features.test_build import counted_corpus, text_corpus

MEASURES = MeasureSettings(ks=[1, 5])

# suggests the first true tag of every document with 0.9, and tag 0 besides, and says what it was told
FAKE = """
import json, sys
import pyarrow as pa, pyarrow.parquet as pq
from pathlib import Path
if sys.argv[1] == "-c":
    print(Path(__file__).with_name("version").read_text())
    sys.exit()
_, name, features, out, k, settings = sys.argv[1:]
if name == "napkinxc":
    sys.exit("no such luck")
tags = pq.read_table(Path(features) / "test.parquet")["tags"].to_pylist()
first = [[of_one[0]] + [0] * (of_one[0] != 0) for of_one in tags]
table = {"tags": pa.array(first, pa.list_(pa.int32())), "scores": pa.array([[0.9, 0.1][: len(f)] for f in first])}
pq.write_table(pa.table(table), Path(out) / "suggestions.parquet")
(Path(out) / "model").mkdir()
(Path(out) / "model" / "weights").write_bytes(b"0" * 2500)
told = {"train_cpu_seconds": 2.0, "train_seconds": 3.0, "predict_cpu_seconds": len(tags) * 7e-6, "working_mib": 5.0}
print("chatter"); print(json.dumps(told))
"""


@pytest.fixture
def prepared(tmp_path) -> Path:
    text_corpus().save(tmp_path / "corpus", parameters={})
    make_features(Dataset.open(tmp_path / "corpus", "corpus"), tmp_path / "features", Vectoriser(), Split(test=0.3))
    return tmp_path / "features"


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    (tmp_path / "fake.py").write_text(FAKE)
    (tmp_path / "version").write_text("1.0 3.12.1")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path / "fake.py"}" "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return Workspace.from_settings(Settings(home=tmp_path, rivals={"omikuji": python, "napkinxc": python}))


def test_a_rival_is_measured_on_the_held_out_documents(prepared, workspace):
    rival = RivalSettings(rival="omikuji", settings={"n_trees": 1})
    folder = measure_rival.fn(rival, prepared, MEASURES, workspace).result()
    summary = Evaluation.load(folder).summary
    assert summary["P@1"].value == 1
    assert summary["ECE"].value < 0.2
    costs = {name: summary[name].value for name in ("training CPU s", "µs a document", "model MB", "working MiB")}
    assert costs == pytest.approx({"training CPU s": 2, "µs a document": 7, "model MB": 0.0025, "working MiB": 5})
    assert json.loads((folder / "record.json").read_text())["seconds"] == 3
    again = measure_rival.fn(rival, prepared, MEASURES, workspace)
    assert (again.name, again.result()) == ("Cached", folder)
    other = measure_rival.fn(RivalSettings(rival="omikuji"), prepared, MEASURES, workspace).result()
    assert other != folder


def test_another_version_of_a_rival_or_of_its_program_is_measured_anew(prepared, workspace, tmp_path, monkeypatch):
    def folder():
        return measure_rival.fn(RivalSettings(rival="omikuji"), prepared, MEASURES, workspace).result()

    first = folder()
    (tmp_path / "version").write_text("1.1 3.12.1")
    second = folder()
    other = tmp_path / "programs.py"
    other.write_text("another program")
    monkeypatch.setattr("tasks.rivals.measure.PROGRAM", other)
    assert len({first, second, folder()}) == 3


def test_versions_are_those_of_a_real_python(tmp_path):
    rival, python = RivalSettings(rival="omikuji"), Path(sys.executable)
    assert _ask(python, rival, "-c", _VERSIONS, "numpy") == f"{np.__version__} {platform.python_version()}"
    with pytest.raises(
        ValueError, match=r"omikuji: .* ended with 1 and said: .*No package metadata was found for no-such"
    ):
        _ask(python, rival, "-c", _VERSIONS, "no-such")


def test_a_complaint_is_the_last_error_without_ornament():
    rival, python = RivalSettings(rival="annif"), Path(sys.executable)
    ornate = "raise LookupError('\\n****\\n  Resource punkt not found.\\n\\n  - looked in /a\\n****')"
    with pytest.raises(ValueError, match=r"said: LookupError: Resource punkt not found\. - looked in /a$"):
        _ask(python, rival, "-c", ornate)
    with pytest.raises(ValueError, match=r"said: the last line$"):
        _ask(python, rival, "-c", "import sys; sys.exit('some\\nthe last line\\n----')")
    with pytest.raises(ValueError, match=r"ended with 3 and said: nothing$"):
        _ask(python, rival, "-c", "import sys; sys.exit(3)")


def test_a_rival_that_fails_or_is_not_there_is_named(prepared, workspace, tmp_path):
    with pytest.raises(ValueError, match=r"napkinxc: .*python ended with 1 and said: no such luck"):
        measure_rival.fn(RivalSettings(rival="napkinxc"), prepared, MEASURES, workspace)
    bare = Workspace.from_settings(Settings(home=tmp_path))
    assert measure_rivals([RivalSettings(rival="omikuji")], prepared, MEASURES, bare) == []


def test_a_rival_that_fails_leaves_the_others_measured(prepared, workspace, monkeypatch):
    def in_no_flow(*args, return_state):
        return SimpleNamespace(result=lambda: measure_rival.fn(*args).result())

    monkeypatch.setattr("tasks.rivals.measure.measure_rival", in_no_flow)
    rivals, told = [RivalSettings(rival="napkinxc"), RivalSettings(rival="omikuji")], []
    with listen(lambda step, event: told.append((step.title, event, step.remark))):
        measured = measure_rivals(rivals, prepared, MEASURES, workspace)
    assert [model.label for model in measured] == ["omikuji"]
    ((title, remark),) = [(title, remark) for title, event, remark in told if event == "left out"]
    assert title == "leave out napkinxc"
    assert "no such luck" in remark


# learns nothing: says what it was given to read, and how many tags it was asked for
LIBRARY = """
from pathlib import Path
from types import SimpleNamespace
class Model:
    @staticmethod
    def default_hyper_param(): return SimpleNamespace()
    @staticmethod
    def train_on_data(path, parameters, n_threads):
        model = Model()
        model.read = Path(path).read_text()
        return model
    def save(self, folder): Path(folder, "read").write_text(self.read)
    def init_prediction_thread_pool(self, n): pass
    def predict(self, document, top_k): return [(tag, 0.5) for tag in range(top_k)]
"""


def test_a_program_leaves_out_documents_without_words_and_asks_for_no_more_tags_than_there_are(tmp_path):
    (tmp_path / "omikuji.py").write_text(LIBRARY)
    train = {"words": [[0, 2], [], [1]], "values": [[1.0, 0.5], [], [2.0]], "tags": [[0], [1], [0, 2]]}
    for side, rows in (("train", train), ("test", {name: column[:2] for name, column in train.items()})):
        types = {"words": pa.int32(), "values": pa.float32(), "tags": pa.int32()}
        columns = {name: pa.array(column, pa.list_(types[name])) for name, column in rows.items()}
        pq.write_table(pa.table(columns), tmp_path / f"{side}.parquet")
    (tmp_path / "out").mkdir()
    command = [sys.executable, str(PROGRAM), "omikuji", str(tmp_path), str(tmp_path / "out"), "50"]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True, capture_output=True)
    assert (tmp_path / "out" / "model" / "read").read_text().splitlines() == ["2 3 3", "0 0:1 2:0.5", "0,2 1:2"]
    suggested = pq.read_table(tmp_path / "out" / "suggestions.parquet")["tags"].to_pylist()
    assert suggested == [[0, 1, 2], [0, 1, 2]]


def test_texts_are_those_of_the_rows(prepared, tmp_path):
    corpus, data = text_corpus(), Dataset.open(prepared, "features")
    write_texts(Dataset.open(tmp_path / "corpus", "corpus"), data, tmp_path)
    titles, texts = (corpus.documents[name].to_pylist() for name in ("title", "text"))
    for side in ("train", "test"):
        written = pq.read_table(tmp_path / f"{side}_texts.parquet")["text"].to_pylist()
        numbers = data.read(side, ["document"])["document"].to_pylist()
        assert len(written) == len(numbers) > 1
        for text, number in zip(written, numbers, strict=True):
            assert [word for part in (titles[number], texts[number]) for word in (part or "").split()] == text.split()


def test_counted_words_are_texts_that_have_each_as_often(tmp_path):
    corpus = counted_corpus()
    corpus.save(tmp_path / "corpus", parameters={})
    stored = Dataset.open(tmp_path / "corpus", "corpus")
    make_features(stored, tmp_path / "features", Vectoriser(), Split(test=0.3))
    data = Dataset.open(tmp_path / "features", "features")
    write_texts(stored, data, tmp_path)
    for text, number in zip(
        pq.read_table(tmp_path / "test_texts.parquet")["text"].to_pylist(),
        data.read("test", ["document"])["document"].to_pylist(),
        strict=True,
    ):
        row = corpus.words[number]
        wanted = {f"word{w}": max(1, round(float(v))) for w, v in zip(row.indices, row.data, strict=True)}
        assert Counter(text.split()) == wanted


def test_given_scores_are_measured_as_those_of_a_model(prepared):
    rows = StoredRows.open(prepared, "test")
    n = rows.n_rows
    random = np.random.default_rng(0)
    scores = random.random((n, rows.n_labels))
    best = np.argsort(-scores, axis=1)[:, :3]
    table = pa.table({"tags": best.tolist(), "scores": np.take_along_axis(scores, best, axis=1).tolist()})
    labels = rows.labels(slice(0, n))
    identity = InMemory(sp.identity(n, np.float64, "csr"), labels)
    given = evaluate(GivenScores(scores_of(table, rows.n_labels)), identity, ks=[1, 3]).summary
    truth = labels.toarray() > 0
    assert given["P@3"].value == pytest.approx(np.take_along_axis(truth, best, axis=1).mean())
    with pytest.raises(ValueError, match="suggested a tag twice"):
        scores_of(pa.table({"tags": [[1, 1]], "scores": [[0.5, 0.4]]}), rows.n_labels)


def test_memory_is_seen_while_it_is_held(tmp_path):
    with watch_memory() as memory:
        held = np.ones(40 << 17)
        assert held.sum() > 0
    assert 30 < memory.mebibytes < 200
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_bytes(b"0" * 4000)
    assert folder_megabytes(tmp_path) == 0.004
