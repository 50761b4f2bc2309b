"""MMSG with 1,000 prototypes on rows of RCV1 (see above): 100,000 of them in one process of two threads, which keeps
features as they are (bar: 8 GiB), and all of them on `local:2` with 6 GiB for each worker, which keep features rounded.
A topic counts as often as it is deep in RCV1's hierarchy, so that the category of a story is its most specific one:
about a hundred of 103, where the first of all topics would be one of four. A round is ten steps of L-BFGS. Parameters
are searched on 1,000 rows before it.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import XY, Rows, StoredRows
from tagcore.models import MMSG
from tagcore.readers.rcv1.taxonomy import read_taxonomy
from tagcore.shards import Executor, InProcess
from tagcore.store.datasets import Dataset
from tests.bench.scale.corpora import RCV1, rcv1
from tests.bench.scale.head import head
from tests.bench.scale.measured import Job, compile_for, figures, tagged, trained, two_workers
from tests.bench.scale.processes import alone, peak_mib

FEW = 100_000
MODEL = MMSG(n_categories=101, n_prototypes=1000, n_shards=16, memory=2**33)


@dataclass(frozen=True)
class Weighted:
    """Rows whose taggings count as often as their tag says; words are read where the rows are."""

    rows: Rows
    weights: np.ndarray

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    @property
    def n_labels(self) -> int:
        return self.rows.n_labels

    def load(self, part: slice) -> XY:
        X, Y = self.rows.load(part)
        return X, self._weighted(Y)

    def labels(self, part: slice) -> sp.csr_matrix:
        return self._weighted(self.rows.labels(part))

    def part(self, part: slice) -> Any:
        return self.rows.part(part)

    def select(self, numbers: np.ndarray) -> Rows:
        return self.rows.select(numbers)

    def _weighted(self, Y: sp.csr_matrix) -> sp.csr_matrix:
        return sp.csr_matrix((Y.data * self.weights[Y.indices], Y.indices, Y.indptr), shape=Y.shape)


def run(data: Path | None, rows: int = RCV1, here: int = FEW, there: int = RCV1) -> list[dict[str, Any]]:
    """Of so many rows, learns from some in one process and from some on two workers, at most; of 0 neither. Nothing
    without the topics of RCV1."""
    if data is None:
        return []
    made = rcv1(data, rows)
    topics = Dataset.open(made.features, "features", verify=False).names("tags")
    depths = depths_of(topics, data / "rcv1" / "rcv1.taxonomy")
    table = [*made.costs]
    for what, size, work in (
        ("MMSG, one process", here, train_and_tag_here),
        ("MMSG, two workers", there, train_and_tag),
    ):
        if size:
            table.append({"what": what, **alone(work, Job(what, MODEL, made.features, size, RCV1), depths)})
            print(table[-1], flush=True)
    return table


def depths_of(topics: list[str], taxonomy: Path) -> np.ndarray:
    """How deep every topic is in the hierarchy; 1 where nothing is above it."""
    known, above = read_taxonomy(taxonomy)
    parents = {known[i]: known[above[i]] for i in np.flatnonzero(above >= 0)}

    def depth(topic: str) -> int:
        return 1 + depth(parents[topic]) if topic in parents else 1

    return np.array([depth(topic) for topic in topics])


def train_and_tag(job: Job, depths: np.ndarray) -> dict[str, Any]:
    """On two workers; times are without the start of the cluster."""
    with tempfile.TemporaryDirectory(dir=job.features.parent) as root, two_workers(root) as executor:
        return _measured(job, depths, executor) | figures(executor)


def train_and_tag_here(job: Job, depths: np.ndarray) -> dict[str, Any]:
    """As on a cluster, but in this process."""
    return _measured(job, depths, InProcess(2)) | {"peak MiB, driver": peak_mib()}


def _measured(job: Job, depths: np.ndarray, executor: Executor) -> dict[str, Any]:
    rows = Weighted(head(StoredRows.open(job.features, "train"), job.rows), depths)
    compile_for(job.model, rows)
    row = trained(job.model, rows, executor) | {"categories": job.model.category_tags_.size}
    return row | tagged(job.model, head(StoredRows.open(job.features, "test"), job.queries), executor)
