"""A night's documents: sums add up, in one batch or in many; words and tags that are new find room."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.baselines import KNN
from tagcore.graph.node_ranks import cluster_counts, node_ranks, tag_shares
from tagcore.models import PMM
from tagcore.models.pmm.growing import STATISTICS, class_taggings, word_counts
from tests.problems import obvious

SETTINGS = {"n_classes": 6, "n_components": 6, "n_word_clusters": 5}
SCORINGS = ["rerank", "soft", "hard", "mix"]


@pytest.fixture(scope="module")
def problem():
    """documents of one topic each, which no class gets wrong."""
    return obvious(240)


def evening(problem, scoring="rerank", **more):
    X, Y = problem
    return PMM(**SETTINGS | {"scoring": scoring} | more).fit(X[:150], Y[:150])


def test_sums_of_a_fit_are_those_of_its_classes(problem):
    """one component a class: every document counts once, in the class of its words."""
    X, Y = problem
    model = evening(problem)
    classes = model.class_posterior(X[:150]).argmax(axis=1)
    np.testing.assert_array_equal(model.component_weights_, np.bincount(classes))
    exposure = np.asarray(X[:150].sum(axis=1)).ravel() / model.mean_length_
    np.testing.assert_allclose(model.component_exposures_, np.bincount(classes, exposure))
    np.testing.assert_array_equal(word_counts(model).toarray(), cluster_counts(X[:150], classes, 6).toarray())
    np.testing.assert_array_equal(class_taggings(model).toarray(), cluster_counts(Y[:150], classes, 6).toarray())
    assert model.n_documents_ == 150


@pytest.mark.parametrize("length", ["exposure", "raw"])
def test_old_and_new_together_are_the_sums_of_all(problem, length):
    X, Y = problem
    model = evening(problem, length=length)
    classes = model.class_posterior(X).argmax(axis=1)
    model.partial_fit(X[150:], Y[150:])
    counts, tags = cluster_counts(X, classes, 6), cluster_counts(Y, classes, 6)
    np.testing.assert_array_equal(word_counts(model).toarray(), counts.toarray())
    np.testing.assert_array_equal(class_taggings(model).toarray(), tags.toarray())
    np.testing.assert_array_equal(model.class_sizes_, np.bincount(classes))
    np.testing.assert_array_equal(model.word_documents_, np.asarray((X > 0).sum(axis=0)).ravel())
    np.testing.assert_array_equal(model.popular_, np.asarray((Y > 0).sum(axis=0)).ravel() / 240)
    np.testing.assert_array_equal(model.taggings_, np.asarray(Y.sum(axis=0)).ravel())
    exposure = np.asarray(X.sum(axis=1)).ravel() / model.mean_length_ if length == "exposure" else np.ones(240)
    exposed = np.bincount(classes, exposure)
    np.testing.assert_allclose(model.component_exposures_, exposed)
    # rates are the mode given these sums: (Σ counts of the cluster + a) / (words of the cluster · N + b)
    for k in range(6):
        clusters = model.word_clusters_[:, k]
        words = np.asarray(counts[k].todense()).ravel()
        for c in np.unique(clusters):
            mode = (words[clusters == c].sum() + 0.1) / ((clusters == c).sum() * exposed[k] + 1.0)
            assert model.rates_[k, c] == pytest.approx(mode)
        assert model.mass_[k] == pytest.approx(model.rates_[k, clusters].sum())
    ranks = node_ranks(tags, model.taggings_, model.tag_classes_, delta=1.0)
    np.testing.assert_allclose(model.log_ranks_, ranks.log_rank)
    np.testing.assert_allclose(model.class_tag_shares_, tag_shares(tags, model.taggings_, 0.0).data, rtol=1e-6)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_documents_may_come_in_batches(problem, scoring):
    X, Y = problem
    whole, streamed = evening(problem, scoring), evening(problem, scoring)
    whole.partial_fit(X[150:], Y[150:])
    for batch in np.array_split(np.arange(150, 240), 4):
        streamed.partial_fit(X[batch], Y[batch])
    index = ("entry_starts_", "entry_classes_", "posting_starts_", "posting_rows_", "row_tag_starts_", "row_tag_ids_")
    for name in (*(set(STATISTICS) - {"unseen_clusters_"}), *index, "class_sizes_", "tag_classes_", "word_tag_ids_"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(whole, name), err_msg=name)
    assert streamed.score(X, Y) == 1.0


def test_several_components_share_a_new_document(problem):
    X, Y = problem
    model = evening(problem, n_components=12)
    before = model.component_weights_.copy()
    model.partial_fit(X[150:], Y[150:])
    assert (model.component_weights_ >= before).all()
    assert model.component_weights_.sum() == pytest.approx(240)
    assert word_counts(model).sum() == pytest.approx(X.sum())
    shares = np.add.reduceat(model.component_shares_, model.class_starts_[:-1])
    np.testing.assert_allclose(shares, 1)


def test_new_documents_vote_as_if_they_had_been_there(problem):
    X, Y = problem
    model = evening(problem, n_searched=6, n_neighbors=20).partial_fit(X[150:], Y[150:])
    counts = X.copy()
    counts.data = (1 + np.log(counts.data)) * model.idf_[counts.indices]
    neighbours = KNN(n_neighbors=20, power=2.0).fit(counts, Y)
    np.testing.assert_allclose(model.top_k(X, 5)[1], neighbours.top_k(counts, 5)[1], atol=1e-5)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_words_and_tags_are_appended(problem, scoring, tmp_path):
    X, Y = problem
    model = evening(problem, scoring)
    answers = model.top_k(X[:150], 3)
    model.grow(X.shape[1] + 2, Y.shape[1] + 1)
    wider = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(240, X.shape[1] + 2))
    np.testing.assert_array_equal(model.top_k(wider[:150], 3)[0][:, 0], answers[0][:, 0])
    assert model.mass_ == pytest.approx(
        [model.rates_[k, model.word_clusters_[:, k]].sum() for k in range(model.n_classes_)]
    )
    fresh = wider[150:].tolil()
    fresh[:, -1] = 3.0
    tagged = sp.csr_matrix(sp.hstack([Y[150:], np.ones((90, 1))]))
    model.partial_fit(fresh.tocsr(), tagged)
    assert model.tag_classes_[-1] < model.n_classes_
    assert model.word_documents_[-2:].tolist() == [0, 90]
    model.save(tmp_path / "grown")
    loaded = PMM.load(tmp_path / "grown")
    np.testing.assert_array_equal(loaded.top_k(fresh.tocsr(), 7)[0], model.top_k(fresh.tocsr(), 7)[0])
    with pytest.raises(ValueError, match="would be fewer"):
        model.grow(X.shape[1], Y.shape[1])


def test_documents_without_words_count_for_their_tags_alone(problem):
    X, Y = problem
    model = evening(problem)
    sums = model.component_weights_.copy()
    model.partial_fit(sp.csr_matrix((2, X.shape[1])), Y[:2])
    np.testing.assert_array_equal(model.component_weights_, sums)
    np.testing.assert_array_equal(model.taggings_, np.asarray(Y[:150].sum(axis=0) + Y[:2].sum(axis=0)).ravel())
    assert model.n_documents_ == 152


def test_a_first_batch_is_a_fit_and_a_wrong_one_changes_nothing(problem):
    X, Y = problem
    one, other = PMM(**SETTINGS).partial_fit(X, Y), PMM(**SETTINGS).fit(X, Y)
    np.testing.assert_array_equal(one.rates_, other.rates_)
    with pytest.raises(ValueError, match="y has 5 tags, the model 6: `grow` appends tags and words"):
        one.partial_fit(X, Y[:, :5])
    with pytest.raises(ValueError, match="expected counts of words"):
        one.partial_fit(-X, Y)
    for name in PMM._arrays:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
