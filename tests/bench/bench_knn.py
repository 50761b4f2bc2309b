"""Single questions to the kNN baseline against 12,000 documents; none was asked before it is timed.

`q @ A.T` is what one would type, `q @ B` the same with B = A.T.tocsr() made before; neither picks the best documents.
"""

import argparse
import csv
import io
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MultiLabelBinarizer

from tagcore.baselines import KNN
from tagcore.text import Vectoriser
from tests.bench.bench_tfidf import read_texts

DOCUMENTS, QUESTIONS, TURN, TAGS = 12_000, 600, 100, 5
Matrix = sp.csr_matrix


def run(data: Path | None) -> list[dict[str, Any]]:
    """Microseconds of single questions, and medians as multiples of that of `query` and of `neighbours`."""
    sets = {"made up": _made_up} if data is None else {"citeulike-t": _citeulike, "cooking": _cooking}
    return [row for name, make in sets.items() for row in _measure(name, *make(data))]


def _measure(name: str, X: Matrix, Y: Matrix) -> list[dict[str, Any]]:
    X = sp.csr_matrix(X, dtype=np.float64)
    A, Y, asked = X[:DOCUMENTS], Y[:DOCUMENTS], [X[i] for i in range(DOCUMENTS, DOCUMENTS + QUESTIONS)]
    KNN().fit(A[:2], Y[:2]).top_k(A[:1], 1)  # compiles
    start = time.perf_counter()
    model = KNN().fit(A, Y)
    build = time.perf_counter() - start
    index = (model.word_starts_, model.documents_, model.weights_)
    brute = NearestNeighbors(n_neighbors=model.n_neighbors, algorithm="brute", metric="cosine").fit(A)
    B = A.T.tocsr()
    _agree(model, brute, [A[i] for i in range(100, 150)])
    ways: dict[str, Callable[[Matrix], Any]] = {
        "KNN.query: neighbours and tags": lambda q: model.query(q.indices, q.data, TAGS),
        "KNN.neighbours": lambda q: model.neighbours(q.indices, q.data),
        "KNN.top_k of one CSR row": lambda q: model.top_k(q, TAGS),
        "scipy q @ A.T": lambda q: q @ A.T,
        "scipy q @ B": lambda q: q @ B,
        "scikit-learn NearestNeighbors": lambda q: brute.kneighbors(q),
    }
    for ask in ways.values():
        _seconds(ask, [A[i] for i in range(20)])  # compiles, and starts what a library starts once
    turns = [asked[at : at + TURN] for at in range(0, QUESTIONS, TURN)]  # so that a busy moment meets all ways
    taken_by = [{way: _seconds(ask, turn) for way, ask in ways.items()} for turn in turns]
    seconds = {way: np.concatenate([taken[way] for taken in taken_by]) for way in ways}
    middle = {way: float(np.median(taken)) for way, taken in seconds.items()}
    rows: list[dict[str, Any]] = [
        {
            "what": f"{name}: {way}",
            "p50 µs": 1e6 * middle[way],
            "p99 µs": 1e6 * float(np.percentile(taken, 99)),
            "÷ query": middle[way] / middle["KNN.query: neighbours and tags"],
            "÷ neighbours": middle[way] / middle["KNN.neighbours"],
        }
        for way, taken in seconds.items()
    ]
    rows[0] |= {"build s": build, "index MB": sum(part.nbytes for part in index) / 1e6}
    rows[0] |= {"postings read": float(np.median([np.diff(model.word_starts_)[q.indices].sum() for q in asked]))}
    return rows


def _seconds(ask: Callable[[Matrix], Any], questions: list[Matrix]) -> np.ndarray:
    taken = np.empty(len(questions))
    for i, question in enumerate(questions):
        start = time.perf_counter()
        ask(question)
        taken[i] = time.perf_counter() - start
    return taken


def _agree(model: KNN, brute: NearestNeighbors, asked: list[Matrix]) -> None:
    for q in asked:
        sims = model.neighbours(q.indices, q.data)[1]
        np.testing.assert_allclose(sims, 1 - brute.kneighbors(q)[0][0][: sims.size], atol=1e-5)


def _citeulike(data: Path) -> tuple[Matrix, Matrix]:
    X, Y = citeulike_counts(data)
    return TfidfTransformer().fit_transform(X), Y


def citeulike_counts(data: Path) -> tuple[Matrix, Matrix]:
    """Counts of words and tags of the papers of citeulike-t."""
    lines = (data / "citeulike-t" / "mult.dat").read_text(encoding="ascii").splitlines()
    pairs = [[pair.split(":") for pair in line.split()[1:]] for line in lines]
    ends = np.cumsum([0] + [len(row) for row in pairs])
    flat = np.array([pair for row in pairs for pair in row], dtype=np.int64)
    X = sp.csr_matrix((flat[:, 1].astype(float), flat[:, 0], ends))
    lines = (data / "citeulike-t" / "tag-item.dat").read_text(encoding="ascii").splitlines()
    papers = [np.array(line.split()[1:], dtype=np.int64) for line in lines]
    tags = np.repeat(np.arange(len(papers)), [p.size for p in papers])
    Y = sp.csr_matrix((np.ones(tags.size), (np.concatenate(papers), tags)), shape=(X.shape[0], len(papers)))
    X.sum_duplicates()
    return X, Y


def _cooking(data: Path) -> tuple[Matrix, Matrix]:
    texts, Y = cooking_texts(data)
    return Vectoriser(stop_words="english").fit_transform(texts), Y


def cooking_texts(data: Path) -> tuple[list[str], Matrix]:
    """Visible texts and tags of the questions about cooking."""
    archive = zipfile.ZipFile(data / "stackexchange" / "cooking.csv.zip")
    with archive, archive.open(archive.namelist()[0]) as file:
        tags = [q["tags"].split() for q in csv.DictReader(io.TextIOWrapper(file, "utf-8", newline=""))]
    Y = MultiLabelBinarizer(sparse_output=True).fit_transform(tags)
    return read_texts(data, "cooking"), Y


def _made_up(data: Path | None) -> tuple[Matrix, Matrix]:
    """Forty words a document with Zipf's frequencies, stop words and all, and three tags at random."""
    n, words = DOCUMENTS + QUESTIONS, 20_000
    drawn = np.random.default_rng(0).zipf(1.3, (n, 40)) % words
    X = sp.csr_matrix((np.ones(drawn.size), drawn.ravel(), np.arange(0, drawn.size + 1, 40)), shape=(n, words))
    X.sum_duplicates()
    tags = np.random.default_rng(1).integers(0, 5_000, 3 * n)
    Y = sp.csr_matrix((np.ones(3 * n), tags, np.arange(0, 3 * n + 1, 3)), shape=(n, 5_000))
    return TfidfTransformer().fit_transform(X), Y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the real data sets")
    for row in run(parser.parse_args().data):
        print(f"{row.pop('what'):46}" + "".join(f"{name}: {value:<10.4g}" for name, value in row.items()))


if __name__ == "__main__":
    main()
