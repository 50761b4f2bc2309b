"""The words that a mixture looks at: those that tell most about classes, and nothing of the others."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from scipy.stats import poisson
from sklearn.metrics import mutual_info_score

from tagcore.features.rows import InMemory
from tagcore.models import PMM
from tagcore.models.pmm import learning
from tagcore.shards import InProcess
from tests.problems import noisy
from tests.state_hashes import planted

SETTINGS = {"n_classes": 6, "n_components": 10, "n_word_clusters": 5, "scoring": "soft"}


def test_words_are_those_of_greatest_mutual_information():
    X, Y = noisy(200)
    shards = learning.edge_shards(InMemory(X, Y), 3, InProcess())
    topics, _ = learning.find_topics(PMM(n_classes=4), InMemory(X, Y), shards, 0, learning.FitContext())
    used = learning.words_to_use(shards, topics, 11)
    known = topics.documents >= 0
    gains = [mutual_info_score(X[known][:, [j]].toarray().ravel() > 0, topics.documents[known]) for j in range(40)]
    np.testing.assert_array_equal(np.flatnonzero(used), np.sort(np.argsort(-np.array(gains), kind="stable")[:11]))


def test_all_words_are_as_good_as_no_selection():
    X, Y = planted()
    plain, all_of_them = PMM(**SETTINGS).fit(X, Y), PMM(n_words=X.shape[1], **SETTINGS).fit(X, Y)
    for name in PMM._arrays:
        np.testing.assert_array_equal(getattr(plain, name), getattr(all_of_them, name))


def test_the_posterior_is_that_of_the_selected_words():
    X, Y = planted()
    model = PMM(n_words=60, temper=1.0, **SETTINGS).fit(X, Y)
    assert model.used_words_.sum() == 60
    counts, used = X[:25].toarray(), model.used_words_ > 0
    s = counts.sum(axis=1) / model.mean_length_
    logs = np.empty((25, model.n_classes_))
    for k in range(model.n_classes_):
        own = slice(model.class_starts_[k], model.class_starts_[k + 1])
        rates = model.rates_[own][:, model.word_clusters_[used, k]]
        np.testing.assert_allclose(model.mass_[own], rates.sum(axis=1))
        chances = poisson.logpmf(counts[:, None, used], s[:, None, None] * rates)
        logs[:, k] = logsumexp(np.log(model.component_shares_[own]) + chances.sum(axis=2), axis=1)
    expected = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(model.class_posterior(X[:25]), expected, atol=1e-4)


def test_new_documents_and_words_keep_to_the_selection():
    X, Y = planted()
    model = PMM(n_words=60, **SETTINGS).fit(X[:500], Y[:500])
    model.grow(X.shape[1] + 1, Y.shape[1])
    assert not model.used_words_[-1]
    wider = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(600, X.shape[1] + 1))
    model.partial_fit(wider[500:], Y[500:])
    assert model.used_words_[np.unique(model.word_count_ids_)].all()
    for k, first in enumerate(model.class_starts_[:-1]):
        rates = model.rates_[first, model.word_clusters_[model.used_words_ > 0, k]]
        assert model.mass_[first] == pytest.approx(rates.sum())
