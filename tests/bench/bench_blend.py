"""The default night against OneVsRestLinear alone: CPU seconds of training, and microseconds of a question.

Training is that of every model of the preset `nightly`, with calibrators, fits shared as in a night; "÷ linear" is over
one fit of OneVsRestLinear on the same rows. Questions are one CSR row through `top_k` (5 tags), and raw text through a
loaded tagger; all models take turns, so that a busy moment meets all of them. Where words × tags are more than a model
of the night takes (`most_cells`), it is left out here, too. Texts are read in every kind of features that the night's
models read; of counted words there is one.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from flows.recipes import load_recipe
from tagcore.baselines import OneVsRestLinear
from tagcore.features.rows import InMemory, Rows
from tagcore.features.side_by_side import SideBySide
from tagcore.fitting import fit_calibrated, make_model
from tagcore.kept_fits import KeptFits
from tagcore.numeric.columns import join_columns
from tagcore.tag_model import TagModel
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tagcore.text.joined import JoinedVectoriser
from tasks.blend_members import views_of, with_columns, without_features_of_texts
from tasks.feature_settings import FeatureSettings
from tasks.recipe_settings import ModelSettings
from tests.bench.bench_knn import cooking_texts
from tests.bench.bench_pmm import planted_texts, seconds_of, single_questions
from tests.bench.timing import cpu
from tests.problems import official_split, precision

HELD_OUT, ASKED = 2_000, 600
Matrix = sp.csr_matrix
BASE = {"sublinear_tf": True}


@dataclass(frozen=True)
class Problem:
    """Rows to learn from and to ask about, in every kind of features that the night's blend reads; the first are those
    of the recipe."""

    views: list[tuple[Matrix, Matrix]]
    Y: Matrix
    truth: Matrix

    def read(self, model: ModelSettings) -> list[int]:
        """The numbers of the views that a model of the night reads."""
        if len(self.views) == 1:
            return [0]
        return list(range(len(self.views))) if model.model == "Blend" else [_views().index(model.features)]

    def asked(self, model: ModelSettings) -> Matrix:
        """What a model is asked about."""
        return join_columns([self.views[number][1] for number in self.read(model)])

    def rows(self, model: ModelSettings) -> Rows:
        """What a model learns from."""
        views = tuple(InMemory(self.views[number][0], self.Y) for number in self.read(model))
        return SideBySide(views) if len(views) > 1 else views[0]

    def settings(self, model: ModelSettings) -> ModelSettings:
        """A model of the night as it reads these rows."""
        if len(self.views) == 1:
            return without_features_of_texts(model)
        if model.model != "Blend":
            return model
        edges = np.cumsum([0, *(X.shape[1] for X, _ in self.views)]).tolist()
        return with_columns(model, _views(), edges)

    def few(self) -> "Problem":
        """A little of it, to compile by."""
        views = [(X[:300, :60], asked[:, :60]) for X, asked in self.views]
        return Problem(views, self.Y[:300, :20], self.truth[:, :20])


def run(data: Path | None) -> list[dict[str, Any]]:
    """Training and questions of each set; without data, of planted documents."""
    sets: dict[str, Callable[[], Problem]] = {"planted": lambda: _of_texts(*planted_texts(6_000))}
    if data is not None:
        sets = {
            "cooking": lambda: _of_texts(*cooking_texts(data)),
            "delicious": lambda: _official(data / "delicious"),
            "eurlex4k": lambda: _official(data / "eurlex4k"),
        }
    return [row for name, load in sets.items() for row in _measured(name, load())] + _raw_texts(data)


def _measured(name: str, problem: Problem) -> list[dict[str, Any]]:
    _night(problem.few())  # compiles
    linear = OneVsRestLinear()
    alone = cpu(lambda: linear.fit(problem.views[0][0], problem.Y))
    night = _night(problem)
    whole = sum(seconds for *_, seconds in night.values())
    models = {label: model for label, (_, model, _) in night.items() if label != "Popular"}
    asked = {label: problem.asked(night[label][0]) for label in models}
    micros = single_questions(
        {label: _top_five(model) for label, model in models.items()},
        {label: rows[:ASKED] for label, rows in asked.items()},
    )
    base = np.median(micros["OneVsRestLinear"])
    rows = [
        {"what": f"{name}: OneVsRestLinear alone", "train CPU s": alone, "÷ linear": 1.0},
        {"what": f"{name}: the night", "train CPU s": whole, "÷ linear": whole / alone},
    ]
    return rows + [
        {
            "what": f"{name}: {label}",
            "train CPU s": night[label][2],
            "one row p50 µs": float(np.median(taken)),
            "one row ÷ linear": float(np.median(taken) / base),
            "P@1": precision(problem.truth, models[label].top_k(asked[label], 1)[0], 1),
        }
        for label, taken in micros.items()
    ]


def _night(problem: Problem) -> dict[str, tuple[ModelSettings, TagModel, float]]:
    """Every model of the night that these rows are not too large for, and the CPU seconds of its training."""
    trained: dict[str, tuple[ModelSettings, TagModel, float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for settings in map(problem.settings, load_recipe("nightly").models):
            rows = problem.rows(settings)
            if settings.most_cells is not None and rows.n_features * rows.n_labels > settings.most_cells:
                continue
            model = make_model(settings.model, settings.params, 0, TagModel)
            folders = tuple(Path(scratch, str(number)) for number in problem.read(settings))
            kept = KeptFits(folders)
            seconds = cpu(partial(fit_calibrated, model, rows, settings.calibrate, kept=kept))
            trained[settings.model] = settings, model, seconds
    return trained


def _raw_texts(data: Path | None) -> list[dict[str, Any]]:
    """Raw text to five tags through loaded taggers."""
    texts, Y = planted_texts(6_000) if data is None else cooking_texts(data)
    problem, vectorisers = _of_texts(texts, Y), _vectorisers(texts[HELD_OUT:])
    taggers = {}
    for settings in map(problem.settings, (ModelSettings(model="OneVsRestLinear"), _night_blend())):
        model = make_model(settings.model, settings.params, 0, TagModel).fit_rows(problem.rows(settings))
        vectoriser = JoinedVectoriser(vectorisers) if settings.model == "Blend" else vectorisers[0]
        with tempfile.TemporaryDirectory() as scratch:
            names = [f"tag {t}" for t in range(problem.Y.shape[1])]
            Tagger(vectoriser, model, names).save(Path(scratch, "tagger"))
            taggers[settings.model] = Tagger.load(Path(scratch, "tagger"))
    taken: dict[str, list[np.ndarray]] = {name: [] for name in taggers}
    for start in range(0, ASKED, 100):
        for name, tagger in taggers.items():
            turn = texts[start : start + 100]
            taken[name].append(seconds_of(lambda text, tagger=tagger: tagger.suggest([text]), turn))
    micros = {name: float(np.median(np.concatenate(parts))) for name, parts in taken.items()}
    return [
        {
            "what": f"raw text, {len(texts) - HELD_OUT:,} documents, {problem.Y.shape[1]:,} tags: {name}",
            "one row p50 µs": middle,
            "one row ÷ linear": middle / micros["OneVsRestLinear"],
        }
        for name, middle in micros.items()
    ]


def _top_five(model: TagModel) -> Callable[[Matrix], Any]:
    return lambda row: model.top_k(row, 5)


def _night_blend() -> ModelSettings:
    (blend,) = (model for model in load_recipe("nightly").models if model.model == "Blend")
    return blend


def _views() -> list[dict[str, Any]]:
    """The kinds of features that the night's blend reads, on top of the recipe's."""
    return views_of(_night_blend())


def _vectorisers(texts: Sequence[str]) -> list[Vectoriser]:
    settings = [FeatureSettings.model_validate(BASE | view) for view in _views()]
    return [Vectoriser(**one.model_dump()).fit(texts) for one in settings]


def _of_texts(texts: Sequence[str], Y: Matrix) -> Problem:
    Y = sp.csr_matrix(Y, dtype=np.float64)
    views = [
        (one.transform(texts[HELD_OUT:]), one.transform(texts[:HELD_OUT])) for one in _vectorisers(texts[HELD_OUT:])
    ]
    return Problem(views, Y[HELD_OUT:], Y[:HELD_OUT])


def _official(folder: Path) -> Problem:
    X, Y, asked, truth = official_split(folder)
    return Problem([(X, asked)], Y, truth)
