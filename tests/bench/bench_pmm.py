"""PMM on one core: citeulike-t (half of it to learn from), or planted rows of that size; then a planted million.

Single questions are one CSR row through `top_k` (5 tags); batches are rows through one `top_k` (9 tags) in CPU seconds,
the least of three. "÷ kNN" is time over that of `KNN` with as many neighbours in the same run. The scipy kNN is one
product with the transposed rows made before, argpartition, and a sum over the tags of the nearest.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.models import BOMC, PMM
from tagcore.synthetic.corpus import PlantedCorpus
from tagcore.tag_model import TagModel
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tests.bench.bench_knn import citeulike_counts, cooking_texts
from tests.bench.timing import least_cpu
from tests.problems import matrices, precision

HELD_OUT, MILLION, NEIGHBOURS, TURNS, ASKED = 3_000, 1_000_000, 50, 6, 100
Matrix = sp.csr_matrix
Split = tuple[Matrix, Matrix, Matrix, Matrix]
Row = dict[str, Any]


def run(data: Path | None) -> list[Row]:
    """Microseconds, documents a second, quality and memory; without data all rows are planted."""
    split = _planted(12_000) if data is None else _citeulike(data)
    return [*_asked(split), *_training(split), *_searched(_planted(MILLION), "planted million"), *_raw_texts(data)]


def _asked(split: Split) -> list[Row]:
    X, Y, questions, truth = split
    paper = {"n_classes": 30, "n_components": 40, "n_word_clusters": 30, "n_neighbors": NEIGHBOURS}
    knn, weigh = _neighbours(X, Y)
    linear = OneVsRestLinear().fit(weigh(X), Y)
    models: dict[str, tuple[TagModel, Matrix]] = {
        "KNN": (knn, weigh(questions)),
        "PMM hard, K=30": (PMM(**paper, scoring="hard").fit(X, Y), questions),
        "PMM soft, K=30": (PMM(**paper, scoring="soft").fit(X, Y), questions),
        "PMM hard, K=300": (PMM(n_classes=300, scoring="hard").fit(X, Y), questions),
        "PMM rerank, defaults": (PMM().fit(X, Y), questions),
        "OneVsRestLinear": (linear, weigh(questions)),
    }
    peer = _scipy_peer(weigh(X), Y)
    ways = {name: _top_five(model) for name, (model, _) in models.items()} | {"scipy kNN": peer}
    asked = {name: rows for name, (_, rows) in models.items()} | {"scipy kNN": weigh(questions)}
    micros = single_questions(ways, asked)
    batches = dict(zip(models, least_cpu(3, *(_batch(*pair) for pair in models.values())), strict=True))
    return [
        {
            "what": name,
            "one row p50 µs": float(np.median(micros[name])),
            "p99 µs": float(np.percentile(micros[name], 99)),
            "one row ÷ kNN": float(np.median(micros[name]) / np.median(micros["KNN"])),
        }
        | (_batch_row(batches, name, *models[name], truth) if name in models else {})
        for name in ways
    ]


def _batch_row(batches: dict[str, float], name: str, model: TagModel, rows: Matrix, truth: Matrix) -> Row:
    return {
        "documents per s": rows.shape[0] / batches[name],
        "batch ÷ kNN": batches[name] / batches["KNN"],
        "top-1": precision(truth, model.top_k(rows, 1)[0], 1),
        "model MB": _megabytes(model),
    }


def _training(split: Split) -> list[Row]:
    """CPU seconds of a quarter of the documents and of all of them, with as many classes."""
    X, Y = split[:2]
    few = X.shape[0] // 4
    works = [lambda n=n: PMM(n_classes=30, n_components=40).fit(X[:n], Y[:n]) for n in (few, X.shape[0])]
    part, whole = least_cpu(3, *works)
    return [
        {"what": f"training, K=30, {few:,} documents", "train CPU s": part},
        {"what": f"training, K=30, {X.shape[0]:,} documents", "train CPU s": whole, "train ÷ quarter": whole / part},
    ]


def _searched(split: Split, name: str) -> list[Row]:
    """`rerank` with its defaults against all neighbours: time, and how many of their best five tags it finds."""
    X, Y, questions, truth = split
    model = PMM().fit(X, Y)
    knn, weigh = _neighbours(X, Y)
    weighed = weigh(questions)
    micros = single_questions(
        {"rerank": _top_five(model), "KNN": _top_five(knn)}, {"rerank": questions, "KNN": weighed}
    )
    ours, theirs = model.top_k(questions, 5)[0], knn.top_k(weighed, 5)[0]
    recall = np.mean([np.isin(a, b).mean() for a, b in zip(ours, theirs, strict=True)])
    ratio = float(np.median(micros["rerank"]) / np.median(micros["KNN"]))
    return [
        {
            "what": f"{name}: {way}",
            "one row p50 µs": float(np.median(micros[way])),
            "p99 µs": float(np.percentile(micros[way], 99)),
            "top-1": precision(truth, tags, 1),
            "model MB": _megabytes(asked),
        }
        | ({"one row ÷ kNN": ratio, "recall of kNN's 5": float(recall)} if way == "rerank" else {})
        for way, tags, asked in (("rerank", ours, model), ("KNN", theirs, knn))
    ]


def _raw_texts(data: Path | None) -> list[Row]:
    """Raw text to five tags through a loaded tagger."""
    texts, Y = planted_texts(12_000) if data is None else cooking_texts(data)
    learnt, Y, asked = texts[HELD_OUT:], sp.csr_matrix(Y)[HELD_OUT:], texts[: TURNS * ASKED]
    counts = {"use_idf": False, "norm": None}
    found = []
    for model in (PMM(), BOMC(), KNN(), OneVsRestLinear()):
        vectoriser = Vectoriser(stop_words="english", **(counts if isinstance(model, PMM) else {}))
        model.fit(vectoriser.fit_transform(learnt), Y)
        names = [f"tag {t}" for t in range(Y.shape[1])]
        with tempfile.TemporaryDirectory() as scratch:
            Tagger(vectoriser, model, names).save(Path(scratch, "tagger"))
            tagger = Tagger.load(Path(scratch, "tagger"))
        micros = seconds_of(lambda text, tagger=tagger: tagger.suggest([text]), asked)
        name = f"raw text, {len(learnt):,} documents, {Y.shape[1]:,} tags: {type(model).__name__}"
        found.append(
            {"what": name, "one row p50 µs": float(np.median(micros)), "p99 µs": float(np.percentile(micros, 99))}
        )
    return found


def _neighbours(X: Matrix, Y: Matrix) -> tuple[KNN, Callable[[Matrix], Matrix]]:
    """kNN on (1 + ln count) · idf, the weights of `rerank`, and what weighs rows so."""
    df = np.bincount(X.indices, minlength=X.shape[1])
    idf = np.log((1.0 + X.shape[0]) / (1.0 + df)) + 1.0

    def weigh(rows: Matrix) -> Matrix:
        rows = rows.copy()
        rows.data = (1.0 + np.log(rows.data)) * idf[rows.indices]
        return rows

    return KNN(n_neighbors=NEIGHBOURS).fit(weigh(X), Y), weigh


def _scipy_peer(A: Matrix, Y: Matrix) -> Callable[[Matrix], Any]:
    B, T = normalize(A).T.tocsr(), (Y > 0).astype(np.float64)

    def ask(q: Matrix) -> np.ndarray:
        sims = q @ B
        some = min(NEIGHBOURS, sims.nnz)
        best = np.argpartition(-sims.data, some - 1)[:some] if some else np.empty(0, int)
        votes = np.asarray(sims.data[best] ** 2 @ T[sims.indices[best]]).ravel()
        five = np.argpartition(-votes, 5)[:5]
        return five[np.argsort(-votes[five])]

    return ask


def _top_five(model: TagModel) -> Callable[[Matrix], Any]:
    return lambda row: model.top_k(row, 5)


def _batch(model: TagModel, rows: Matrix) -> Callable[[], Any]:
    return lambda: model.top_k(rows, 9)


def single_questions(ways: dict[str, Callable[[Matrix], Any]], rows: dict[str, Matrix]) -> dict[str, np.ndarray]:
    """Microseconds of single questions; all ways take turns, so that a busy moment meets all of them."""
    single = {name: [rows[name][i] for i in range(TURNS * ASKED)] for name in ways}
    for name, ask in ways.items():
        seconds_of(ask, single[name][:20])  # compiles
    taken: dict[str, list[np.ndarray]] = {name: [] for name in ways}
    for at in range(0, TURNS * ASKED, ASKED):
        for name, ask in ways.items():
            taken[name].append(seconds_of(ask, single[name][at : at + ASKED]))
    return {name: np.concatenate(parts) for name, parts in taken.items()}


def seconds_of(ask: Callable[[Any], Any], questions: list[Any]) -> np.ndarray:
    """Microseconds of each question."""
    ask(questions[0])
    taken = np.empty(len(questions))
    for i, question in enumerate(questions):
        start = time.perf_counter()
        ask(question)
        taken[i] = time.perf_counter() - start
    return 1e6 * taken


def _megabytes(model: TagModel) -> float:
    return sum(array.nbytes for array in model.parts()["arrays"].values()) / 1e6


def _citeulike(data: Path) -> Split:
    """Half of the papers to learn from, tags of 5 and words of 2 of them, and papers that are held out."""
    X, Y = citeulike_counts(data)
    order = np.random.default_rng(0).permutation(np.flatnonzero(np.asarray(X.sum(axis=1)).ravel() >= 5))
    half = order.size // 2
    tags = np.bincount(Y[order[:half]].indices, minlength=Y.shape[1]) >= 5
    words = np.bincount(X[order[:half]].indices, minlength=X.shape[1]) >= 2
    X, Y = X[:, words].tocsr()[order], Y[:, tags].tocsr()[order]
    tagged = np.diff(Y.indptr) > 0
    learnt, held_out = np.flatnonzero(tagged[:half]), half + np.flatnonzero(tagged[half:])[:HELD_OUT]
    return X[learnt], Y[learnt], X[held_out], Y[held_out]


def _planted(n: int) -> Split:
    sizes = {"n_topics": 200, "n_words": 15_000, "n_tags": 4_400, "words_per_document": 30, "n_users": 0}
    X, Y, _ = matrices(PlantedCorpus(n + HELD_OUT, **sizes, counted=True))
    X = sp.csr_matrix(X, dtype=np.float64)
    return X[HELD_OUT:], Y[HELD_OUT:], X[:HELD_OUT], Y[:HELD_OUT]


def planted_texts(n: int) -> tuple[list[str], Matrix]:
    corpus = PlantedCorpus(n + HELD_OUT, n_words=15_000, n_tags=700, n_users=0)
    texts = [text for block in corpus.blocks() for text in block.documents["text"].to_pylist()]
    return texts, matrices(corpus)[1]
