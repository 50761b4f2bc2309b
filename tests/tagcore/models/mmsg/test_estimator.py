"""MMSG: scores are distributions over tags, made of an SGPS and of shares; odd corpora; shards."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.features.rows import InMemory
from tagcore.models import MMSG, SGPS
from tagcore.shards import InProcess
from tests.problems import TOPICS, noisy, obvious

SET = {"search": "none", "length_scale": 0.7, "amplitude": 2.0, "n_prototypes": 12, "epochs": 2}


def dense_scores(model, X):
    return np.concatenate([block for _, block in model.score_blocks(X)])


def test_scores_are_distributions_over_tags():
    X, Y = noisy()
    model = MMSG(**SET).fit(X, Y)
    scores = dense_scores(model, noisy(seed=1)[0])
    assert scores.min() >= 0
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-9)
    proba = model.category_proba(X)
    assert proba.shape == (150, model.category_tags_.size)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("evidence", ["none", "block"])
def test_with_one_tag_each_scores_are_the_class_probabilities_of_sgps(evidence):
    X, Y = obvious()
    model = MMSG(**SET, evidence=evidence, min_docs=1).fit(X, Y)
    y = np.asarray(Y.argmax(axis=1)).ravel()
    classifier = SGPS(**SET, evidence=evidence, scaling="unit", snap=True).fit(X, y)
    np.testing.assert_allclose(dense_scores(model, X), classifier.predict_proba(X), atol=1e-12)
    assert model.log_evidence_ == classifier.log_evidence_
    assert model.mean_tags_ == 1.0
    assert np.array_equal(model.predict_proba(X), dense_scores(model, X))


def test_with_one_category_every_document_gets_the_distribution_of_all_tags():
    X, Y = noisy()
    Y = sp.csr_matrix(Y + sp.csr_matrix((np.full(150, 9.0), (np.arange(150), np.zeros(150, int))), shape=Y.shape))
    model = MMSG(**SET, weights="counts").fit(X, Y)
    wanted = np.asarray(Y.sum(axis=0)).ravel() / Y.sum()
    np.testing.assert_allclose(dense_scores(model, X[:5]), np.tile(wanted, (5, 1)), atol=1e-12)


def test_documents_that_teach_nothing_are_counted():
    X, Y = noisy()
    model = MMSG(**SET, n_categories=3, min_docs=1).fit(X, Y)
    assert model.n_untagged_ == np.sum(np.diff(Y.indptr) == 0)
    common = np.argsort(-np.asarray(Y.sum(axis=0)).ravel(), kind="stable")[:3]
    assert model.category_tags_.tolist() == sorted(common)
    without = (np.diff(Y.indptr) > 0) & (np.asarray(Y[:, common].sum(axis=1)).ravel() == 0)
    assert model.n_uncategorised_ == without.sum() > 0


@pytest.mark.parametrize("selector", ["prototypes", "random", "infogain", "kmeans"])
@pytest.mark.parametrize("covariance", ["se", "nn"])
def test_prototypes_are_documents_whatever_chose_them(selector, covariance):
    X, Y = obvious()
    model = MMSG(**SET | {"selector": selector, "covariance": covariance}, min_docs=1).fit(X, Y)
    assert model.sparse_
    lengths = np.add.reduceat(model.prototype_values_**2, model.prototype_starts_[:-1])
    np.testing.assert_allclose(lengths, 1.0)
    assert np.array_equal(model.top_k(X, 1)[0][:, 0], np.arange(120) % TOPICS)


def test_prototypes_too_large_to_move_stay_where_they_were_drawn(monkeypatch):
    monkeypatch.setattr("tagcore.models.sgps.learning.MOST_DENSE_CELLS", 10)
    X, Y = obvious()
    with pytest.warns(UserWarning, match="12 prototypes of 24 columns are too large to move"):
        model = MMSG(**SET, min_docs=1).fit(X, Y)
    assert np.array_equal(model.top_k(X, 1)[0][:, 0], np.arange(120) % TOPICS)


def test_draws_belong_to_documents_however_rows_are_cut_into_blocks():
    X, Y = noisy()
    model = MMSG(**SET, evidence="block", probability="sample").fit(X, Y)
    whole = dense_scores(model, X)
    few = np.concatenate([block for _, block in model.score_blocks(X, cells=7 * Y.shape[1])])
    np.testing.assert_allclose(few, whole, atol=1e-12)
    np.testing.assert_allclose(dense_scores(model, X[40]), whole[40:41], atol=1e-12)
    certain = MMSG(**SET, evidence="block").fit(X, Y)
    assert np.abs(whole - dense_scores(certain, X)).max() > 1e-3


def fits_in_parts(**settings):
    """the same fit on one part, on one that is streamed, on two, and on two by two threads."""
    X, Y = noisy(n=1900)  # more than 1536 of them have a category
    rows = InMemory(X, Y.astype(np.float32))
    for n_shards, mode, threads in [(1, "store", 1), (1, "stream", 1), (2, "store", 1), (2, "store", 2)]:
        model = MMSG(**SET | {"tol": 1e-8, "n_shards": n_shards, "mode": mode} | settings)
        yield model.fit_rows(rows, executor=InProcess(threads))


def assert_same_bits(one, other):
    for name in MMSG._arrays:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_streams_and_shards_change_the_last_digits_where_prototypes_stay_and_threads_nothing():
    one, streamed, sharded, by_threads = fits_in_parts(selector="random")
    X = noisy(n=50)[0]
    for other in (streamed, sharded):
        assert not np.array_equal(other.weights_, one.weights_)
        np.testing.assert_allclose(dense_scores(other, X), dense_scores(one, X), atol=1e-8)
    assert_same_bits(by_threads, sharded)


def test_prototypes_that_move_end_elsewhere_with_other_shards_but_not_with_threads():
    one, streamed, sharded, by_threads = fits_in_parts(snap=False)
    X = noisy(n=50)[0]
    np.testing.assert_allclose(dense_scores(streamed, X), dense_scores(one, X), atol=1e-8)
    moved_apart = np.abs(dense_scores(sharded, X) - dense_scores(one, X)).max()
    assert 1e-6 < moved_apart < 0.05  # mini-batches are drawn shard by shard
    assert_same_bits(by_threads, sharded)


def test_a_stored_model_that_shares_more_than_all_is_refused(tmp_path):
    model = MMSG(**SET).fit(*noisy())
    model.mean_tags_ = 1e9
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="mean_tags_ must be at least 0 and at most 20"):
        MMSG.load(tmp_path / "model")
