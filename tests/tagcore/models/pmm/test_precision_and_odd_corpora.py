"""PMM in float32 and float64, and corpora at the edge: in pieces, of one document, of more classes than documents."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln, logsumexp
from scipy.stats import poisson

from tagcore.base import best_k
from tagcore.models import PMM
from tagcore.models.pmm.mixture import MixtureSettings, expected_sums, exposures, group_by_class
from tests.problems import noisy
from tests.state_hashes import planted


def exact_log_posterior(model, X):
    """ln P(class | document) in float64 from the arrays of a model."""
    logs, s = np.empty((X.shape[0], model.n_classes_)), np.ones(X.shape[0])
    if model.length == "exposure":
        s = np.asarray(X.sum(axis=1)).ravel() / model.mean_length_
    for k in range(model.n_classes_):
        own = slice(model.class_starts_[k], model.class_starts_[k + 1])
        table = np.log(model.rates_[own][:, model.word_clusters_[:, k]])
        likelihood = np.asarray(X @ table.T) - s[:, None] * model.mass_[own]
        logs[:, k] = logsumexp(np.log(model.component_shares_[own]) + model.temper * likelihood, axis=1)
    return logs - logsumexp(logs, axis=1, keepdims=True)


@pytest.mark.parametrize("scoring", ["hard", "soft"])
def test_tables_in_float32_change_the_first_nine_of_few_documents(scoring):
    X, Y = planted()
    model = PMM(n_classes=12, n_components=20, scoring=scoring).fit(X, Y)
    posterior = exact_log_posterior(model, X)
    if scoring == "hard":
        classes = np.minimum(model.tag_classes_, model.n_classes_ - 1)
        scores = np.where(model.tag_classes_ < model.n_classes_, posterior[:, classes] + model.log_ranks_, -1e30)
    else:
        shape = (model.n_classes_, model.n_labels_)
        shares = sp.csr_matrix((model.class_tag_shares_, model.class_tag_ids_, model.class_tag_starts_), shape=shape)
        scores = np.exp(posterior) @ shares.toarray()
    exact = best_k(scores, 9)
    found = model.top_k(X, 9)
    np.testing.assert_allclose(found[1], exact[1], rtol=1e-3, atol=1e-3)
    other = [set(a) != set(b) for a, b in zip(found[0], exact[0], strict=True)]
    ties = np.isclose(exact[1][:, -1], np.sort(scores, axis=1)[:, -10], rtol=1e-12, atol=0)
    assert np.mean(np.array(other) & ~ties) < 0.005


@pytest.mark.parametrize("length", ["raw", "exposure"])
def test_the_likelihood_of_a_document_is_a_product_of_poisson_probabilities(length):
    """in float64, to the last digits."""
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.poisson(1.0, (30, 8)).astype(float) + np.eye(30, 8))
    labels = np.repeat([0, 1], 15)
    rows = group_by_class(X, labels, np.arange(30), np.array([2, 3]), np.ones(8, bool))
    rates, shares, words = rng.gamma(1.0, 1.0, (5, 4)), np.array([0.3, 0.7, 0.2, 0.2, 0.6]), rng.integers(0, 4, (8, 2))
    by_word = np.concatenate([rates[:2, words[:, 0]], rates[2:, words[:, 1]]])
    owners = np.repeat([0, 1], np.diff(rows.layout[2]))
    state = {"rates": rates, "shares": shares, "mass": by_word.sum(axis=1), "clusters": words[rows.slot_words, owners]}
    settings = MixtureSettings(n_word_clusters=4, length=length, mean_length=float(X.sum(axis=1).mean()))
    s = exposures(rows, settings)
    (weights, _, _), found = expected_sums(rows, state, s, np.full(30, -1))
    counts, parts = X.toarray(), []
    for i in range(30):
        own = slice(0, 2) if labels[i] == 0 else slice(2, 5)
        parts.append(np.log(shares[own]) + poisson.logpmf(counts[i], s[i] * by_word[own]).sum(axis=1))
    bracket = counts.sum(axis=1) * np.log(s) - gammaln(counts + 1).sum(axis=1)
    np.testing.assert_allclose(found + bracket, [logsumexp(part) for part in parts], rtol=1e-8)
    first = np.sum([np.exp(part - logsumexp(part)) for part in parts[:15]], axis=0)
    np.testing.assert_allclose(weights[:2], first, rtol=1e-8)


def test_a_graph_in_many_pieces_is_cut_between_them():
    """twelve groups of documents that share no word and no tag."""
    X = sp.block_diag([np.ones((10, 3))] * 12, format="csr")
    Y = sp.block_diag([np.ones((10, 1))] * 12, format="csr")
    model = PMM(n_classes=12, n_searched=1).fit(X, Y)
    assert model.n_classes_ == 12
    assert (model.splits_[:, 4] == 0).all()
    np.testing.assert_array_equal(model.class_sizes_, 10)
    assert model.score(X, Y) == 1.0


@pytest.mark.parametrize("scoring", ["rerank", "soft", "hard", "mix"])
def test_one_document_is_a_class(scoring):
    X, Y = sp.csr_matrix([[2.0, 0.0, 1.0]]), sp.csr_matrix([[0.0, 1.0]])
    model = PMM(n_classes=30, n_components=40, scoring=scoring).fit(X, Y)
    assert model.n_classes_ == 1
    assert model.class_sizes_.tolist() == [1]
    assert model.top_k(X, 2)[0].tolist() == [[1, 0]]
    model.partial_fit(sp.csr_matrix([[0.0, 3.0, 0.0]] * 2), sp.csr_matrix([[1.0, 0.0]] * 2))
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("graph", ["tags", "words"])
def test_documents_that_the_graph_does_not_reach_have_no_class(graph):
    X, Y = noisy(200)
    reached = np.diff((Y if graph == "tags" else X).indptr) > 0
    model = PMM(n_classes=4, graph=graph).fit(X, Y)
    assert model.class_sizes_.sum() == reached.sum() < 200
    assert np.isfinite(model.predict_proba(X)).all()
    missing = np.flatnonzero(np.asarray(Y.sum(axis=0)).ravel() == 0)
    assert (model.tag_classes_[missing] == model.n_classes_).all()


@pytest.mark.parametrize(("X", "Y"), [(np.zeros((6, 3)), np.ones((6, 2))), (np.ones((6, 3)), np.zeros((6, 2)))])
def test_a_corpus_without_words_or_without_tags_is_learnt(X, Y):
    for graph in ("balanced", "tags", "words"):
        model = PMM(graph=graph).fit(X, Y)
        assert model.n_classes_ == 1
        assert np.isfinite(model.predict_proba(X)).all()
