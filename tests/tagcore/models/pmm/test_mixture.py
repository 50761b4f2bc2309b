"""EM of the two-way Poisson mixture: it never falls, shards do not matter, and its pieces are those of Poisson."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tagcore.features.rows import InMemory
from tagcore.models.pmm.mixture import (
    MixtureLearner,
    MixtureSettings,
    class_shards,
    first_word_clusters,
    learnt_classes,
    share_components,
)
from tagcore.shards import InProcess
from tagcore.training import train


def corpus(seed=0, documents=60, words=25, classes=3):
    """(counts, class of every document)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, documents)
    labels[:classes] = np.arange(classes)
    rates = rng.gamma(0.5, 1.0, (classes, words))
    return sp.csr_matrix(rng.poisson(rates[labels]).astype(float)), labels


def learnt(X, labels, components, n_shards=1, rounds=12, first=None, **settings):
    rows = InMemory(X, sp.csr_matrix((X.shape[0], 1)))
    mean = float(X.sum(axis=1).mean())
    shards = class_shards(rows, labels, np.asarray(components), n_shards, InProcess())
    made = train(MixtureLearner(MixtureSettings(mean_length=mean, **settings), first), shards, max_rounds=rounds)
    parts = shards.collect(learnt_classes)
    clusters = np.concatenate([part["word_clusters"] for part in parts], axis=1)
    return made.history, {n: np.concatenate([p[n] for p in parts]) for n in ("rates", "shares", "mass")}, clusters


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    length=st.sampled_from(["raw", "exposure"]),
    components=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    clusters=st.integers(1, 9),
)
@example(seed=1, length="raw", components=[1, 2, 1], clusters=7)  # a component that empties twice is dropped
def test_the_objective_never_falls(seed, length, components, clusters):
    X, labels = corpus(seed)
    history, state, _ = learnt(X, labels, components, length=length, n_word_clusters=clusters, tol=0.0)
    assert np.isfinite(state["rates"]).all()
    since = max([i for i, measures in enumerate(history) if measures["emptied"]], default=-1) + 1
    objective = np.array([measures["objective"] for measures in history[since:]])
    assert (np.diff(objective) >= -1e-8 * np.abs(objective[1:])).all()


def test_shards_of_classes_change_no_bit():
    X, labels = corpus(classes=9, documents=200)
    whole, parted = (learnt(X, labels, [2] * 9, n_shards, n_word_clusters=5) for n_shards in (1, 7))
    for name, values in whole[1].items():
        np.testing.assert_array_equal(values, parted[1][name])
    np.testing.assert_array_equal(whole[2], parted[2])


def test_one_class_and_component_with_a_cluster_for_each_word_is_poisson_naive_bayes():
    X, labels = corpus(classes=1)
    a, b = 0.1, 1.0
    _, state, clusters = learnt(X, labels, [1], length="raw", n_word_clusters=60, rounds=30)
    totals = np.asarray(X.sum(axis=0)).ravel()
    rates = state["rates"][0, clusters[:, 0]]
    # words of one total share a cluster: (n total + a) / (n documents + b)
    for total in np.unique(totals[totals > 0]):
        same = totals == total
        expected = (same.sum() * total + a) / (same.sum() * X.shape[0] + b)
        np.testing.assert_allclose(rates[same], expected, rtol=0.05)
    np.testing.assert_allclose(state["mass"][0], rates.sum())


def test_a_corpus_twice_with_twice_the_prior_is_the_same():
    X, labels = corpus(classes=2)
    twice, labels_twice = sp.csr_matrix(sp.vstack([X, X])), np.concatenate([labels, labels])
    _, once, clusters = learnt(X, labels, [1, 1], n_word_clusters=6)
    _, doubled, same = learnt(twice, labels_twice, [1, 1], n_word_clusters=6, a=0.2, b=2.0, pseudo=2.0)
    np.testing.assert_allclose(doubled["rates"], once["rates"])
    np.testing.assert_allclose(doubled["shares"], once["shares"])
    np.testing.assert_array_equal(same, clusters)


def test_an_empty_component_begins_again_and_then_is_dropped():
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(np.repeat(rng.poisson(2.0, (1, 10)).astype(float), 40, axis=0))  # one kind of document
    history, state, _ = learnt(X, np.zeros(40, int), [4], n_word_clusters=4, rounds=60, tol=0.0)
    assert np.isfinite(state["rates"]).all()
    assert state["shares"].sum() == pytest.approx(1)
    assert history[-1]["emptied"] == 0
    nobody_in_three = np.zeros(40, int)
    history, state, _ = learnt(X, np.zeros(40, int), [4], first=nobody_in_three, n_word_clusters=4, rounds=9, tol=0.0)
    assert [measures["emptied"] for measures in history] == [3, 0, 0, 0, 0, 0, 3, 0, 0]  # three begin again, then go
    np.testing.assert_array_equal(state["shares"], [1, 0, 0, 0])


@pytest.mark.parametrize(("emptied", "done"), [((0, 0), True), ((1, 0), False), ((0, 1), False)])
def test_objectives_of_mixtures_with_other_components_are_not_compared(emptied, done):
    history = [{"objective": -5.0, "emptied": float(number)} for number in emptied]
    assert MixtureLearner(MixtureSettings()).done(history) == done


def test_an_empty_component_begins_again_from_the_documents_explained_worst():
    rng = np.random.default_rng(0)
    X = np.zeros((40, 20))
    X[:, :10] = rng.poisson(3.0, (40, 10))
    X[[7, 30], 10:] = X[[7, 30], :10]  # words that no other document has: 5 % of all
    first = np.zeros(40, int)
    history, state, _ = learnt(sp.csr_matrix(X), first, [2], first=first, n_word_clusters=4, rounds=9, tol=0.0)
    assert [measures["emptied"] for measures in history] == [1] + [0] * 8
    np.testing.assert_allclose(state["shares"], [39 / 42, 3 / 42], atol=1e-6)  # a document each on top of their own


def test_components_are_shared_out_by_size():
    sizes = np.array([100, 50, 4])
    assert share_components(sizes, 3).tolist() == [1, 1, 1]
    assert share_components(sizes, 9).sum() <= 9
    assert share_components(sizes, 9)[0] > share_components(sizes, 9)[1] >= 1
    assert share_components(np.array([100, 8]), 40).tolist() == [12, 1]  # one to eight documents at most
    with pytest.raises(ValueError, match="n_components is 2, expected at least one for each of 3 classes"):
        share_components(sizes, 2)


def test_first_word_clusters_leave_the_first_to_unseen_words():
    assert first_word_clusters(np.array([1.0, 5.0, 1.0]), 4).tolist() == [1, 2, 1]
    bins = first_word_clusters(np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), 3)
    assert bins.tolist() == [1, 1, 1, 2, 2, 2]
    assert first_word_clusters(np.array([3.0]), 1).tolist() == [0]
