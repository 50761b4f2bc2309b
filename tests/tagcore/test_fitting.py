"""From rows to a calibrated model: what a warm-up does, what is read, what a killed training goes on from."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

from tagcore.baselines import BCS, KNN, LEML, WSABIE, OneVsRestLinear, Popular
from tagcore.features import rows as feature_rows
from tagcore.features.folds import first_fold
from tagcore.features.rows import InMemory, StoredRows, load_all
from tagcore.fitting import CALIBRATION_DEPTH, fit_calibrated, take_further, warm_up
from tagcore.models import BMLPL, BOMC
from tagcore.models.bmlpl import preparation
from tagcore.scoring.calibration import IsotonicCalibrator
from tagcore.training import Checkpoints
from tests.problems import noisy
from tests.tagcore.features.test_rows import features


@pytest.mark.parametrize("inference", ["em", "gibbs"])
def test_a_warm_up_is_short_however_long_the_training(inference, monkeypatch):
    """it compiles and must not train."""
    fitted = []
    fit = BMLPL.fit
    monkeypatch.setattr(BMLPL, "fit", lambda self, X, Y: fitted.append(self.get_params()) or fit(self, X, Y))
    model = BMLPL(n_topics=5, inference=inference, max_iter=10**9, burn_in=10**9, n_draws=10**9, thin=1, tol=0.0)
    before = model.get_params()
    X, Y = noisy()
    warm_up(model, InMemory(X, Y))
    assert [(p["max_iter"], p["burn_in"], p["n_draws"]) for p in fitted] == [(1000, 2, 2)]
    assert model.get_params() == before
    assert not hasattr(model, "n_labels_")


def same_state(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in one._arrays)


class Killed:
    """Progress that ends the run after so many rounds, and remembers where a run began."""

    def __init__(self, at=None):
        self.at, self.seen = at, []

    def __call__(self, done, total, measures):
        self.seen.append(done)
        if done == self.at:
            raise KeyboardInterrupt


IN_ROUNDS = {
    "LEML": (LEML(4, max_iter=8, tol=0.0), False),
    "LEML logistic": (LEML(4, "logistic", max_iter=5, tol=0.0), False),
    "LEML observed": (LEML(4, max_iter=5, tol=0.0), True),
    "WSABIE": (WSABIE(4, max_iter=8), False),
    "BCS observed": (BCS(4, max_iter=6), True),
    "BMLPL": (BMLPL(n_topics=4, max_iter=8, tol=0.0), False),
    "BMLPL masked": (BMLPL(n_topics=4, max_iter=8, tol=0.0, missing="mask"), True),
    "BOMC": (BOMC.published(parallel="classes", n_shards=3, warm_up=100, merge_every=100), False),
}


@pytest.mark.parametrize(("model", "partly"), IN_ROUNDS.values(), ids=IN_ROUNDS)
def test_a_killed_training_goes_on_with_the_same_bits(model, partly, tmp_path):
    rows = InMemory(*noisy(n=1300))
    observed = np.random.default_rng(0).random((1300, rows.n_labels)) < 0.5 if partly else None
    checkpoints = Checkpoints(tmp_path, "this model", every_seconds=0)
    killed, resumed = clone(model), clone(model)
    with pytest.raises(KeyboardInterrupt):
        killed.fit_rows(rows, observed=observed, progress=Killed(4), checkpoints=checkpoints)
    assert not hasattr(killed, "n_labels_")
    went_on = Killed()
    resumed.fit_rows(rows, observed=observed, progress=went_on, checkpoints=checkpoints)
    assert went_on.seen[0] == 4  # the checkpoint of the third round
    assert same_state(resumed, clone(model).fit_rows(rows, observed=observed))
    assert same_state(resumed, clone(model).fit(rows.X, rows.Y, observed=observed))


def test_leml_ends_when_the_objective_stands_still_after_a_resume_too(tmp_path):
    rows = InMemory(*noisy(n=300))
    whole, went_on = Killed(), Killed()
    model = LEML(3, max_iter=50, tol=0.02)
    expected = clone(model).fit_rows(rows, progress=whole)
    rounds = len(whole.seen) - 1
    assert 2 <= rounds < 40
    assert whole.seen == [*range(1, rounds + 1), 50]
    checkpoints = Checkpoints(tmp_path, "leml", every_seconds=0)
    with pytest.raises(KeyboardInterrupt):
        clone(model).fit_rows(rows, progress=Killed(rounds), checkpoints=checkpoints)
    assert same_state(expected, clone(model).fit_rows(rows, progress=went_on, checkpoints=checkpoints))
    assert went_on.seen == [rounds, 50]


READ: list[int] = []  # how many rows were read at a time


@dataclass(frozen=True)
class RecordedRows(StoredRows):
    """Stored rows that tell how many of them are read at a time."""

    def load(self, part):
        READ.append(part.stop - part.start)
        return super().load(part)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return RecordedRows.open(features(tmp_path_factory.mktemp("fitting")), "train")


def calibrated_in_memory(model, X, Y, seed):
    """(twin, calibrator) as one who holds all rows would make them."""
    held_out = first_fold(X.shape[0], seed)
    twin = model.twin().fit(X[~held_out], Y[~held_out])
    tags, scores = twin.top_k(X[held_out], CALIBRATION_DEPTH)
    hits = np.take_along_axis(Y[held_out].toarray(), tags, axis=1) > 0
    return twin, IsotonicCalibrator().fit(scores.ravel(), hits.ravel())


def same_calibrator(one, other):
    arrays, others = one.to_arrays(), other.to_arrays()
    return arrays.keys() == others.keys() and all(np.array_equal(arrays[name], others[name]) for name in arrays)


CALIBRATED = {
    "BMLPL": BMLPL(n_topics=4, max_iter=4),
    "BMLPL early stopping": BMLPL(n_topics=4, max_iter=4, early_stopping=True),
    "BOMC": BOMC.published(),
    "BOMC independent": BOMC.published("independent"),
    "KNN": KNN(),
    "LEML": LEML(4, max_iter=3),
    "OneVsRestLinear": OneVsRestLinear(),
    "Popular counts": Popular("counts"),
}


@pytest.mark.parametrize("model", CALIBRATED.values(), ids=CALIBRATED)
@pytest.mark.parametrize("run_rows", [25, 32_768])
def test_a_calibrator_is_the_same_wherever_the_rows_are(model, run_rows, stored, monkeypatch):
    monkeypatch.setattr(feature_rows, "_RUN_ROWS", run_rows)
    X, Y = load_all(stored)
    _, expected = calibrated_in_memory(model, X, Y, seed=3)
    for rows in (InMemory(X, Y), stored):
        fitted = clone(model)
        assert same_calibrator(fit_calibrated(fitted, rows, "isotonic", seed=3), expected)
        assert same_state(fitted, clone(model).fit(X, Y))


@pytest.mark.parametrize("settings", [{}, {"early_stopping": True}, {"inference": "online"}])
def test_a_calibrated_training_reads_no_more_than_a_shard(settings, stored, monkeypatch):
    monkeypatch.setattr(feature_rows, "_RUN_ROWS", 25)
    monkeypatch.setattr(preparation, "_SHARD_ROWS", 25)
    READ.clear()
    fit_calibrated(BMLPL(n_topics=4, max_iter=2, n_shards=8, **settings), stored, "isotonic")
    assert sum(READ) >= 2 * stored.n_rows
    assert max(READ) <= -(-stored.n_rows // 8)


@pytest.mark.parametrize("killed_at", [3, 11])
def test_a_killed_calibrated_training_goes_on_with_the_same_bits(killed_at, stored, tmp_path):
    """killed while the twin learns, or the model itself; of its 16 rounds the first half is the twin's."""
    model = BMLPL(n_topics=4, max_iter=8, tol=0.0)
    expected, checkpoints = clone(model), Checkpoints(tmp_path, "calibrated", every_seconds=0)
    calibrator = fit_calibrated(expected, stored, "isotonic")
    with pytest.raises(KeyboardInterrupt):
        fit_calibrated(clone(model), stored, "isotonic", progress=Killed(killed_at), checkpoints=checkpoints)
    resumed, went_on = clone(model), Killed()
    again = fit_calibrated(resumed, stored, "isotonic", progress=went_on, checkpoints=checkpoints)
    assert went_on.seen[0] == killed_at
    assert went_on.seen[-1] == 16
    assert same_state(resumed, expected)
    assert same_calibrator(again, calibrator)


def test_rows_that_are_too_few_to_hold_some_out_give_no_calibrator():
    X, Y = noisy(n=2)
    assert fit_calibrated(Popular(), InMemory(X, Y), "isotonic", seed=1) is None


def known_and_all(seed=0, known=150, words=30, tags=6):
    """(what was known, all rows), whose first rows have neither the last words nor the last tags."""
    X, Y = noisy(n=200, seed=seed)
    X, Y = X.tolil(), Y.tolil()
    X[:known, words:], Y[:known, tags:] = 0, 0
    X, Y = X.tocsr(), Y.tocsr()
    return InMemory(X[:known, :words], Y[:known, :tags]), InMemory(X, Y)


def test_a_model_taken_further_learns_the_new_rows_once_and_new_tags_from_all():
    before, rows = known_and_all()
    tags, known = before.n_labels, before.n_rows
    model = BOMC(variant="independent", noise=1.0)
    taken = take_further(clone(model).fit(before.X, before.Y), rows, known)
    by_hand = clone(model).fit(before.X, before.Y).grow(rows.n_features, tags)
    by_hand.partial_fit(rows.X[known:], rows.Y[known:, :tags])
    whole = clone(model).fit(rows.X, rows.Y)
    assert taken.n_seen_ == whole.n_seen_ == rows.n_rows
    np.testing.assert_array_equal(taken.mean_[:, :tags], by_hand.mean_)
    np.testing.assert_array_equal(taken.mean_[:, tags:], whole.mean_[:, tags:])
    np.testing.assert_array_equal(taken.variance_[:, tags:], whole.variance_[:, tags:])
    np.testing.assert_array_equal(taken.bias_mean_[tags:], whole.bias_mean_[tags:])
    np.testing.assert_array_equal(taken.positives_, whole.positives_)
    np.testing.assert_array_equal(taken.exposures_, whole.exposures_)
    taken._check_state()


@pytest.mark.parametrize("model", [BOMC.published(), BOMC(variant="independent", drift=0.01), KNN()])
def test_other_models_learn_new_tags_from_the_new_rows(model):
    before, rows = known_and_all()
    taken = take_further(clone(model).fit(before.X, before.Y), rows, before.n_rows)
    by_hand = clone(model).fit(before.X, before.Y).grow(rows.n_features, rows.n_labels)
    by_hand.partial_fit(rows.X[before.n_rows :], rows.Y[before.n_rows :])
    assert same_state(taken, by_hand)
    assert (taken.n_features_in_, taken.n_labels_) == (rows.n_features, rows.n_labels)


def test_a_night_without_documents_only_makes_room():
    before, _ = known_and_all()
    wider = InMemory(before.X.copy(), before.Y.copy())
    wider.X.resize(before.n_rows, before.n_features + 2)
    taken = take_further(KNN().fit(before.X, before.Y), wider, before.n_rows)
    assert taken.n_features_in_ == before.n_features + 2
    assert np.array_equal(taken.top_k(wider.X, 3)[0], KNN().fit(before.X, before.Y).top_k(before.X, 3)[0])


def test_tags_that_hang_together_are_not_learnt_apart():
    before, rows = known_and_all()
    with pytest.raises(ValueError, match="only independent tags"):
        BOMC(variant="coupled").fit(before.X, before.Y).relearn_tags(before.X, before.Y, 0)
    assert not BOMC(variant="independent", skew=[1.0] * 6).learns_tags_apart
    with pytest.raises(ValueError, match=f"{rows.n_features} words and .* expected {before.n_features} and 4"):
        BOMC(variant="independent").fit(before.X, before.Y).relearn_tags(rows.X, rows.Y, 2)
