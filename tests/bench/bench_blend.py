"""The default night against OneVsRestLinear alone: CPU seconds of training, and microseconds of a question.

Training is that of every model of the preset `nightly`, with calibrators, fits shared as in a night; "÷ linear" is over
one fit of OneVsRestLinear on the same rows. Questions are one CSR row through `top_k` (5 tags), and raw text through a
loaded tagger; all models take turns, so that a busy moment meets all of them. Where words × tags are more than a model
of the night takes (`most_cells`), it is left out here, too.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from flows.recipes import load_recipe
from tagcore.baselines import OneVsRestLinear
from tagcore.features.rows import InMemory
from tagcore.fitting import fit_calibrated, make_model
from tagcore.kept_fits import KeptFits
from tagcore.models import Blend
from tagcore.tag_model import TagModel
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tests.bench.bench_knn import cooking_texts
from tests.bench.bench_pmm import planted_texts, seconds_of, single_questions
from tests.bench.timing import cpu
from tests.problems import official_split, precision

HELD_OUT, ASKED = 2_000, 600
Matrix = sp.csr_matrix
Split = tuple[Matrix, Matrix, Matrix, Matrix]


def run(data: Path | None) -> list[dict[str, Any]]:
    """Training and questions of each set; without data, of planted documents."""
    sets: dict[str, Callable[[], Split]] = {"planted": _planted}
    if data is not None:
        sets = {
            "cooking": lambda: _cooking(data),
            "delicious": lambda: official_split(data / "delicious"),
            "eurlex4k": lambda: official_split(data / "eurlex4k"),
        }
    return [row for name, load in sets.items() for row in _measured(name, load())] + _raw_texts(data)


def _measured(name: str, split: Split) -> list[dict[str, Any]]:
    X, Y, asked, truth = split
    _night(X[:300, :60], Y[:300, :20])  # compiles
    linear = OneVsRestLinear()
    alone = cpu(lambda: linear.fit(X, Y))
    night: dict[str, tuple[TagModel, float]] = _night(X, Y)
    whole = sum(seconds for _, seconds in night.values())
    models = {label: model for label, (model, _) in night.items() if not label.startswith("Popular")}
    micros = single_questions(
        {label: _top_five(model) for label, model in models.items()}, dict.fromkeys(models, asked[:ASKED])
    )
    base = np.median(micros["OneVsRestLinear"])
    rows = [
        {"what": f"{name}: OneVsRestLinear alone", "train CPU s": alone, "÷ linear": 1.0},
        {"what": f"{name}: the night", "train CPU s": whole, "÷ linear": whole / alone},
    ]
    return rows + [
        {
            "what": f"{name}: {label}",
            "train CPU s": night[label][1],
            "one row p50 µs": float(np.median(taken)),
            "one row ÷ linear": float(np.median(taken) / base),
            "P@1": precision(truth, models[label].top_k(asked, 1)[0], 1),
        }
        for label, taken in micros.items()
    ]


def _night(X: Matrix, Y: Matrix) -> dict[str, tuple[TagModel, float]]:
    """Every model of the night that these rows are not too large for, and the CPU seconds of its training."""
    trained = {}
    with tempfile.TemporaryDirectory() as scratch:
        for settings in load_recipe("nightly").models:
            if settings.most_cells is not None and X.shape[1] * Y.shape[1] > settings.most_cells:
                continue
            model = make_model(settings.model, settings.params, 0, TagModel)
            kept = KeptFits(Path(scratch), least_seconds=0.2)
            seconds = cpu(
                lambda model=model, settings=settings, kept=kept: fit_calibrated(
                    model, InMemory(X, Y), settings.calibrate, kept=kept
                )
            )
            trained[settings.model] = model, seconds
    return trained


def _raw_texts(data: Path | None) -> list[dict[str, Any]]:
    """Raw text to five tags through loaded taggers."""
    texts, Y = planted_texts(6_000) if data is None else cooking_texts(data)
    learnt, asked = texts[HELD_OUT:], texts[:ASKED]
    vectoriser = Vectoriser(sublinear_tf=True)
    X, Y = vectoriser.fit_transform(learnt), sp.csr_matrix(Y)[HELD_OUT:]
    taggers = {}
    for model in (OneVsRestLinear(), Blend()):
        with tempfile.TemporaryDirectory() as scratch:
            names = [f"tag {t}" for t in range(Y.shape[1])]
            Tagger(vectoriser, model.fit(X, Y), names).save(Path(scratch, "tagger"))
            taggers[type(model).__name__] = Tagger.load(Path(scratch, "tagger"))
    taken: dict[str, list[np.ndarray]] = {name: [] for name in taggers}
    for start in range(0, ASKED, 100):
        for name, tagger in taggers.items():
            turn = asked[start : start + 100]
            taken[name].append(seconds_of(lambda text, tagger=tagger: tagger.suggest([text]), turn))
    micros = {name: float(np.median(np.concatenate(parts))) for name, parts in taken.items()}
    return [
        {
            "what": f"raw text, {len(learnt):,} documents, {Y.shape[1]:,} tags: {name}",
            "one row p50 µs": middle,
            "one row ÷ linear": middle / micros["OneVsRestLinear"],
        }
        for name, middle in micros.items()
    ]


def _top_five(model: TagModel) -> Callable[[Matrix], Any]:
    return lambda row: model.top_k(row, 5)


def _cooking(data: Path) -> Split:
    texts, Y = cooking_texts(data)
    X = Vectoriser(sublinear_tf=True).fit_transform(texts)
    Y = sp.csr_matrix(Y, dtype=np.float64)
    return X[HELD_OUT:], Y[HELD_OUT:], X[:HELD_OUT], Y[:HELD_OUT]


def _planted() -> Split:
    texts, Y = planted_texts(6_000)
    X = Vectoriser(sublinear_tf=True).fit_transform(texts)
    return X[HELD_OUT:], Y[HELD_OUT:], X[:HELD_OUT], Y[:HELD_OUT]
