"""A rival trained and asked in a Python of its own, measured as our models are."""

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from prefect import task
from prefect.states import State

from tagcore.corpus import csr_from_lists
from tagcore.features.build import tag_frequencies
from tagcore.features.rows import InMemory, StoredRows
from tagcore.metrics.costs import Costs
from tagcore.metrics.evaluate_model import evaluate
from tagcore.store.datasets import Dataset, write_dataset
from tasks.cache import PlannedResult, run_cached, stored_folder, stored_key
from tasks.costs import folder_megabytes, with_costs
from tasks.evaluate import EvaluatedModel
from tasks.progress import ProgressReporter
from tasks.recipe_settings import MeasureSettings, RivalSettings
from tasks.rivals.texts import write_texts
from tasks.workspace import Workspace

PROGRAM = Path(__file__).with_name("programs.py")
READERS = ("annif",)  # rivals that make features of their own, of texts
SUGGESTED = 50  # tags that a rival is asked for; further ones have no score
_VERSIONS = """
import platform, sys
from importlib.metadata import version
print(version(sys.argv[1]), platform.python_version())
"""
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")  # the line that ends a traceback
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True, eq=False)
class GivenScores:
    """What somebody else scored, as a model of rows that only say which document they are of."""

    scores: sp.csr_matrix

    def score_blocks(self, X: sp.csr_matrix) -> Iterator[tuple[slice, np.ndarray]]:
        yield slice(0, X.shape[0]), np.asarray((X @ self.scores).todense(), np.float64)

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Scores as they are: rivals promise probabilities."""
        return np.clip(scores, 0.0, 1.0)


def measure_rivals(
    rivals: list[RivalSettings], prepared: Path, measures: MeasureSettings, workspace: Workspace, seed: int = 0
) -> list[EvaluatedModel]:
    """Measures the rivals that have a Python in the settings; of the others, and of those that fail, one line says that
    they are left out, and why: what is no part of this house does not end hours of work."""
    measured = []
    for rival in rivals:
        if rival.rival not in workspace.settings.rivals:
            _leave_out(rival, f'no Python that has it; settings: rivals = {{ {rival.rival} = "…/bin/python" }}')
            continue
        state: Any = measure_rival(rival, prepared, measures, workspace, return_state=True)
        try:
            evaluation: Path = state.result()
        except ValueError as error:
            _leave_out(rival, str(error))
            continue
        measured.append(EvaluatedModel(rival.label, evaluation, evaluation, prepared, seed, rival=True))
    return measured


def _leave_out(rival: RivalSettings, why: str) -> None:
    ProgressReporter(f"leave out {rival.label}", remark=why).tell("left out")


@task(name="rival", task_run_name="measure {rival.label}")
def measure_rival(rival: RivalSettings, prepared: Path, measures: MeasureSettings, workspace: Workspace) -> State[Path]:
    """Lets the rival learn from the rows of features and suggest tags for the held-out ones; measures these."""
    python = workspace.settings.rivals[rival.rival]
    parameters = {
        "rival": rival.model_dump(exclude={"called"}),
        "ks": measures.ks,
        "versions": _ask(python, rival, "-c", _VERSIONS, rival.rival),  # of the rival and of its Python
        "program": hashlib.sha256(PROGRAM.read_bytes()).hexdigest(),
    }
    plan = PlannedResult(workspace.store, "evaluation", parameters, {"features": stored_key(prepared, "features")})

    def make(folder: Path, step: ProgressReporter) -> None:
        data = Dataset.open(prepared, "features", verify=False)
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch)
            if rival.rival in READERS:
                corpus = stored_folder(workspace.store, "corpus", data.manifest["inputs"]["corpus"])
                write_texts(Dataset.open(corpus, "corpus", verify=False), data, out)
            told = run_program(python, rival, prepared, out)
            suggestions, megabytes = pq.read_table(out / "suggestions.parquet"), folder_megabytes(out / "model")
        rows = StoredRows.open(prepared, "test")
        scores = scores_of(suggestions, rows.n_labels)
        evaluation = evaluate(
            GivenScores(scores),
            InMemory(sp.identity(rows.n_rows, np.float64, "csr"), rows.labels(slice(0, rows.n_rows))),
            ks=tuple(measures.ks),
            tag_names=data.names("tags"),
            train_counts=tag_frequencies(data, "train"),
            train_documents=data.counts["train"],
        )
        microseconds = 1e6 * told["predict_cpu_seconds"] / rows.n_rows
        costs = Costs(told["train_cpu_seconds"], microseconds, megabytes, told["working_mib"])
        with write_dataset(folder, "evaluation", **plan.manifest) as writer:
            with_costs(evaluation, costs).save(writer.folder)
        step.costs["seconds"] = told["train_seconds"]  # of training, as the records of our models have it

    return run_cached(plan, f"measure {rival.label}", make)


def scores_of(suggestions: pa.Table, n_tags: int) -> sp.csr_matrix:
    """The table of a rival as rows of scores; ValueError for a tag that there is not, or one that comes twice."""
    tags, scores = (suggestions[name].combine_chunks() for name in ("tags", "scores"))
    rows = csr_from_lists(tags, scores, n_tags).copy()  # which is read-only
    given = rows.nnz
    rows.sum_duplicates()
    if rows.nnz < given:
        raise ValueError("a rival suggested a tag twice for one document")
    return rows


def run_program(python: Path, rival: RivalSettings, prepared: Path, out: Path) -> dict[str, float]:
    """What the program told of its run."""
    program = [str(PROGRAM), rival.rival, str(prepared), str(out), str(SUGGESTED), json.dumps(rival.settings)]
    return json.loads(_ask(python, rival, *program))


def _ask(python: Path, rival: RivalSettings, *arguments: str) -> str:
    """The last line that the rival's Python printed; ValueError with the end of its complaint where it failed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= dict.fromkeys(_THREADS, "1")
    done = subprocess.run([str(python), *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        complaint = _complaint(done.stderr)
        raise ValueError(f"{rival.label}: {python} ended with {done.returncode} and said: {complaint:.300}")
    return done.stdout.splitlines()[-1]


def _complaint(told: str) -> str:
    """The last error of what a program told, to the end, or the last line; lines without a word are ornament."""
    lines = [line for line in told.splitlines() if any(map(str.isalnum, line))]
    errors = [number for number, line in enumerate(lines) if _ERROR.match(line)]
    return " ".join(line.strip() for line in lines[errors[-1] if errors else -1 :]) or "nothing"
