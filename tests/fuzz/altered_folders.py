"""Altered model folders, loaded and asked in processes of their own, so that a signal or a hang is seen.

A folder either answers or is refused by a ValueError of `load_estimator`: nothing else may come of it.
"""

import multiprocessing
import resource
import signal
import tempfile
import time
import warnings
import zlib
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba.core import event

import tagcore.baselines
import tagcore.models  # noqa: F401  both register their classes
from tagcore.base import MODELS, Estimator, load_estimator, registered_models
from tagcore.class_model import ClassModel
from tagcore.models import Blend, TagiCoFi
from tagcore.models.blend.guard import THE_BLEND
from tagcore.rating_model import RatingModel
from tagcore.synthetic.ratings import PlantedRatings
from tests.fuzz.alterations import Stored, altered
from tests.problems import noisy

ROWS, WORDS, TAGS = 200, 20, 12
SLOW, HANG = 1.0, 60.0  # seconds: of the processor, beyond compiling; of the clock, compiling included
ROOM = 8 * 2**30  # bytes of addresses that a process may take: sizes taken on trust end in a MemoryError
GIBBS: dict[str, Any] = {"inference": "gibbs", "burn_in": 1, "n_draws": 2, "thin": 1}
FIRST_WAY: dict[str, dict[str, Any]] = {name: {"search_steps": 0} for name in ("GPLA", "IVM", "VBGP")}  # quick
OTHER_WAYS: dict[str, list[dict[str, Any]]] = {
    "LaSVM": [{"kernel": "rbf"}],
    "VectorSimilarity": [{"select": "information_gain", "keep": 0.5}],
    "BMLPL": [{"screen": 4}, GIBBS, GIBBS | {"screen": 4}, {"dtype": "float64"}, {"dtype": "float64", "screen": 4}],
    "TagiCoFi": [{"gamma": 2.0, "profiles": "rated"}, {"feedback": "counts"}],
    "BOMC": [
        {"variant": "coupled", "parents": [-1, 0, 0, 1, -1, 4, 4, 4, -1, -1, -1, -1], "drift": 0.01},
        {"variant": "independent"},
    ],
}


class Answer(NamedTuple):
    """What came of an altered folder: "answered", "refused", or what must not happen."""

    what: str
    seconds: float = 0.0
    compiled: int = 0

    @property
    def fault(self) -> bool:
        return self.what not in ("answered", "refused") or self.compiled > 0 or self.seconds > SLOW


def model_names() -> list[str]:
    return sorted(name for name, model in registered_models().items() if model.__module__.startswith("tagcore."))


def stored_models(name: str) -> list[Stored]:
    """Small models of the class, fitted in every way that leaves other arrays behind."""
    data: Any = noisy(ROWS, WORDS, TAGS)
    if issubclass(MODELS[name], RatingModel):
        planted = PlantedRatings(30, TAGS, n_factors=2, n_groups=3, n_tags=5, ratings_per_user=4, seed=2)
        data = planted.ratings(), planted.taggings()
    if issubclass(MODELS[name], ClassModel):
        X, Y = data
        data = X, np.asarray(Y.argmax(axis=1)).ravel()
    kept = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model of few rows may not converge
        fitted = [MODELS[name](**params).fit(*data) for params in [FIRST_WAY.get(name, {}), *OTHER_WAYS.get(name, [])]]
        if name == "Blend":  # whose guard chose a member
            fitted.append(Blend().fit(*data))
            fitted[-1].serving_ = THE_BLEND
        for number, model in enumerate(fitted):
            place = Path(folder, str(number))
            model.save(place)
            kept.append(Stored((place / "state.safetensors").read_bytes(), (place / "model.json").read_bytes()))
    return kept


def ask(model: Estimator) -> None:
    """Asks for the best of two rows, or users; AssertionError where the answer is none."""
    if isinstance(model, RatingModel):
        best, size = model.top_k([0, 3], 4)[0], model.n_items_
        if isinstance(model, TagiCoFi):
            model.recommend_for_tags([0, 3], 4)
        best = np.where(best < 0, size - 1, best)
    else:
        X = noisy(2, WORDS, TAGS, seed=1)[0].tocoo()
        known = X.col < model.n_features_in_
        cells = X.data[known], (X.row[known], X.col[known])
        rows = sp.csr_matrix(cells, shape=(2, model.n_features_in_))
        if isinstance(model, ClassModel):
            size = len(model.class_labels_)
            best = np.argsort(-model.predict_proba(rows), axis=1)[:, :4]
        else:
            best, size = model.top_k(rows, 4)[0], model.n_labels_
    assert best.shape == (2, min(4, size)), best.shape
    assert ((best >= 0) & (best < size)).all(), best


def answer(folder: Path, stored: Stored) -> Answer:
    """Writes, loads and asks one folder."""
    (folder / "state.safetensors").write_bytes(stored.state)
    (folder / "model.json").write_bytes(stored.head)
    start = time.process_time()
    with event.install_recorder("numba:compile") as compiled:
        what = "answered"
        try:
            model = load_estimator(folder)
        except ValueError:
            what = "refused"
        except BaseException as error:  # whatever it is, it is what the user would see
            what = f"load: {error!r:.120}"
        else:
            try:
                ask(model)
            except BaseException as error:
                what = f"ask: {error!r:.120}"
    return Answer(what, time.process_time() - start, len(compiled.buffer))


def serve(questions: Connection, models: dict[str, list[Stored]]) -> None:
    """Answers (name, number) after (name, number), in a process of its own whose kernels are warm."""
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name, ways in models.items():
            for stored in ways:
                first = answer(Path(folder), stored)
                assert first.what == "answered", (name, first)
        questions.send("ready")
        while True:
            name, number = questions.recv()
            stored = altered(models[name][number % len(models[name])], zlib.crc32(name.encode()), number)
            questions.send(answer(Path(folder), stored))


class Asker:
    """A process that answers, and its successors: one that died or hung is replaced."""

    def __init__(self, models: dict[str, list[Stored]]) -> None:
        self.models = models
        self._start()

    def __call__(self, name: str, number: int) -> Answer:
        found = self._ask(name, number)
        if found.what in ("answered", "refused") and found.seconds > SLOW and not found.compiled:
            found = self._ask(name, number)  # once more: the first time may have been the machine's
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.join()

    def _ask(self, name: str, number: int) -> Answer:
        try:
            self.connection.send((name, number))
            if self.connection.poll(HANG):
                return self.connection.recv()
            self.process.kill()
            what = "hang"
        except (EOFError, ConnectionError):
            self.process.join()
            what = signal.Signals(-code).name if (code := self.process.exitcode or 0) < 0 else f"exit {code}"
        self.process.join()
        self._start()
        return Answer(what)

    def _start(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, self.models), daemon=True)
        self.process.start()
        theirs.close()
        assert self.connection.recv() == "ready"
