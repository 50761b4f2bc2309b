"""WSABIE against a plain transcription of its steps, and on planted structure of low rank."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tagcore.baselines import WSABIE
from tagcore.baselines.low_rank.kernels.wsabie import find_violator, learn_documents
from tagcore.kernels.random.streams import open_stream, uniform
from tagcore.metrics.auc import roc_auc
from tests.problems import noisy, official_split, problems

SEED = np.uint64(7)


def _plain_pass(X, truth, order, rate, margin, max_norm, words, tags):
    """one tag of one document at a time, everything computed anew; draws are those of the kernel's streams."""
    words, tags = words.astype(float), tags.astype(float)
    state = np.empty(1, np.uint64)
    for i in order:
        open_stream(SEED, i, state)
        x, moved = X[i], words.copy()
        false = np.flatnonzero(~truth[i])
        for tag in np.flatnonzero(truth[i]):
            embedded = x @ moved
            trials, other = 0, -1
            while trials < false.size and other < 0:
                drawn = int(uniform(state) * truth.shape[1])
                if not truth[i, drawn]:
                    trials += 1
                    if embedded @ tags[drawn] > embedded @ tags[tag] - margin:
                        other = drawn
            if other < 0:
                continue
            step = rate * sum(1.0 / j for j in range(1, false.size // trials + 1))
            moved = moved + step * np.outer(x, tags[tag] - tags[other])
            tags[tag], tags[other] = tags[tag] + step * embedded, tags[other] - step * embedded
            for t in (tag, other):
                tags[t] *= min(1.0, max_norm / max(np.linalg.norm(tags[t]), 1e-30))
        if truth[i].any() and false.size:
            sizes = np.linalg.norm(moved, axis=1, keepdims=True)
            words = np.where(x[:, None] != 0, moved * np.minimum(1.0, max_norm / np.maximum(sizes, 1e-30)), moved)
    return words, tags


@pytest.mark.parametrize("max_norm", [0.3, 5.0])
@pytest.mark.parametrize("margin", [0.1, 1.0])
def test_a_pass_equals_the_plain_one(max_norm, margin):
    X, Y = noisy(n=40, words=15, tags=12)
    rng = np.random.default_rng(2)
    words, tags = (rng.normal(scale=0.4, size=(size, 5)).astype(np.float32) for size in (15, 12))
    order = rng.permutation(40)
    wanted = _plain_pass(X.toarray(), Y.toarray() > 0, order, 0.05, margin, max_norm, words, tags)
    weights = np.append(0.0, np.cumsum(1.0 / np.arange(1, 13))).astype(np.float32)
    csr = X.data.astype(np.float32), X.indices, X.indptr
    learn_documents(*csr, order, Y.indices, Y.indptr, weights, SEED, 0.05, margin, max_norm, words, tags)
    np.testing.assert_allclose(words, wanted[0], atol=2e-5)
    np.testing.assert_allclose(tags, wanted[1], atol=2e-5)


def test_the_violator_is_drawn_evenly_and_its_trials_follow_its_rank():
    tags = np.array([[3.0], [2.5], [0.0], [-1.0], [2.9]], np.float32)
    true = np.array([False, False, False, False, True])
    state = np.empty(1, np.uint64)
    open_stream(SEED, 1, state)
    score, margin = np.float32(2.9), np.float32(1.0)
    violators = [find_violator(np.ones(1, np.float32), score, tags, true, margin, 4, state) for _ in range(4000)]
    who, trials = np.array(violators).T
    assert set(who) == {-1, 0, 1}
    assert abs((who == 0).mean() - (who == 1).mean()) < 0.03
    wanted = 0.5 ** np.arange(1, 5)  # two of four violate
    assert np.abs(np.bincount(trials[who >= 0], minlength=5)[1:] / 4000 - wanted).max() < 0.03
    assert abs((who < 0).mean() - 0.5**4) < 0.02


@pytest.mark.parametrize("seed", [0, 1])
def test_recovers_planted_structure_of_low_rank(seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.3, (1200, 30)).astype(float)
    scores = X @ rng.normal(size=(30, 4)) @ rng.normal(size=(4, 50))
    Y = scores >= np.sort(scores, axis=1)[:, [-3]]
    model = WSABIE(rank=4, max_norm=20.0, learning_rate=0.01, random_state=seed).fit(X[:1000], Y[:1000])
    assert roc_auc(Y[1000:], lambda: model.score_blocks(X[1000:])).row > 0.95


def test_embeddings_stay_in_the_ball():
    model = WSABIE(max_norm=0.5, learning_rate=1.0, max_iter=5).fit(*noisy())
    for factors in (model.word_factors_, model.tag_factors_):
        assert np.linalg.norm(factors, axis=1).max() <= 0.5 * (1 + 1e-6)


def test_words_that_training_does_not_have_say_nothing():
    X, Y = noisy()
    X = X.tolil()
    X[:, 7] = 0.0
    model = WSABIE().fit(X.tocsr(), Y)
    assert not model.word_factors_[7].any()


def test_common_tags_are_known_without_words():
    X, Y = noisy()
    Y = Y.tolil()
    Y[:, 5] = 1.0
    common = WSABIE().fit(X, Y.tocsr())
    assert (common.top_k(sp.csr_matrix((1, 40)), 1)[0] == 5).all()
    assert not WSABIE(fit_intercept=False).fit(X, Y.tocsr()).intercept_.any()


def test_probabilities_add_up_to_about_how_many_tags_there_are():
    X, Y = noisy(n=600)
    assert WSABIE().fit(X, Y).predict_proba(X).sum() == pytest.approx((Y.toarray() > 0).sum(), rel=0.02)


def test_a_seed_gives_a_model():
    X, Y = noisy()
    one, again, other = (WSABIE(random_state=seed).fit(X, Y) for seed in (3, 3, 4))
    assert np.array_equal(one.tag_factors_, again.tag_factors_)
    assert not np.array_equal(one.tag_factors_, other.tag_factors_)


@settings(max_examples=30)
@given(problem=problems(), rank=st.sampled_from([1, 4, 0.5]), rate=st.sampled_from([0.01, 100.0]))
def test_odd_matrices_give_finite_scores(problem, rank, rate):
    X, Y = problem
    proba = WSABIE(rank, learning_rate=rate, max_iter=3).fit(X, Y).predict_proba(X)
    assert np.isfinite(proba).all()
    assert proba.min() >= 0
    assert proba.max() <= 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"learning_rate": 0}, "learning_rate must be positive, got 0"),
        ({"margin": -1.0}, r"margin must be positive, got -1\.0"),
        ({"max_norm": np.inf}, "max_norm must be positive, got inf"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"rank": -3}, "rank must be .*, got -3"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        WSABIE(**params).fit(*noisy())


@pytest.mark.data
def test_bibtex_beats_the_figure_of_the_paper(shared_data):
    X, Y, X_test, Y_test = official_split(shared_data / "bibtex")
    model = WSABIE(0.4).fit(X, Y)
    assert roc_auc(Y_test, lambda: model.score_blocks(X_test)).row >= 0.918
