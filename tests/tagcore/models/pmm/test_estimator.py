"""PMM asked: posteriors are those of Poisson, the best few are exact, few classes come near all neighbours."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from scipy.stats import poisson
from sklearn.base import clone

from tagcore.base import best_k
from tagcore.baselines import KNN
from tagcore.features.rows import InMemory
from tagcore.models import PMM
from tagcore.models.pmm import learning
from tagcore.shards import InProcess
from tagcore.training import Checkpoints
from tests.problems import noisy

SCORINGS = ["rerank", "soft", "hard", "mix"]


@pytest.fixture(scope="module")
def problem():
    return noisy(300)


@pytest.fixture(scope="module", params=SCORINGS)
def fitted(problem, request):
    return PMM(n_classes=6, n_components=12, n_word_clusters=5, scoring=request.param).fit(*problem)


@pytest.mark.parametrize("length", ["raw", "exposure"])
@pytest.mark.parametrize("prior", ["uniform", "empirical"])
def test_the_posterior_is_the_product_of_poisson_probabilities(problem, length, prior):
    X, Y = problem
    model = PMM(n_classes=4, n_components=8, n_word_clusters=5, temper=1.0, length=length, prior=prior).fit(X, Y)
    counts = X[:20].toarray().round()
    s = counts.sum(axis=1) / model.mean_length_ if length == "exposure" else np.ones(20)
    logs = np.empty((20, model.n_classes_))
    for k in range(model.n_classes_):
        own = range(model.class_starts_[k], model.class_starts_[k + 1])
        rates = [model.rates_[m, model.word_clusters_[:, k]] for m in own]
        parts = [
            np.log(model.component_shares_[m])
            + poisson.logpmf(counts, s[:, None] * rate + (s == 0)[:, None]).sum(axis=1)
            for m, rate in zip(own, rates, strict=True)
        ]
        share = model.class_sizes_[k] / model.class_sizes_.sum() if prior == "empirical" else 1.0
        logs[:, k] = np.log(share) + logsumexp(parts, axis=0)
    expected = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    known = s > 0
    np.testing.assert_allclose(model.class_posterior(sp.csr_matrix(counts))[known], expected[known], atol=1e-4)


@pytest.mark.parametrize(("name", "most"), [("n_classes", 100_000), ("n_word_clusters", 32_767), ("n_shards", 100_000)])
def test_a_size_beyond_reason_is_refused_by_name(problem, name, most):
    with pytest.raises(ValueError, match=f"{name} must be at most {most}, got 100000000"):
        PMM(**{name: 10**8}).fit(*problem)


def test_tables_beyond_reason_for_the_data_are_refused(problem, monkeypatch):
    X, Y = problem
    monkeypatch.setattr(learning, "MOST_CELLS", 8 * X.shape[1])
    assert PMM(n_classes=8, n_word_clusters=4, max_iter=1).fit(X, Y).n_classes_ == 8
    with pytest.raises(ValueError, match=f"n_classes must be at most 8 for {X.shape[1]} words, got 9: select words"):
        PMM(n_classes=9).fit(X, Y)
    most = 8 * X.shape[1] // (4 + 5)
    with pytest.raises(ValueError, match=f"n_word_clusters must be at most {most} for 9 components, got {most + 1}"):
        PMM(n_classes=4, n_components=9, n_word_clusters=most + 1).fit(X, Y)
    few = PMM(n_classes=90_000, n_word_clusters=4, max_iter=1).fit(X[:8], Y[:8])  # there are only eight documents
    assert few.n_classes_ <= 8


def test_the_best_few_are_those_of_all_scores(problem, fitted):
    X = problem[0]
    for k in (1, 4, 9, fitted.n_labels_):
        tags, scores = fitted.top_k(X, k)
        expected = best_k(np.vstack([block for _, block in fitted.score_blocks(X)]), k)
        np.testing.assert_allclose(scores, expected[1])
        np.testing.assert_array_equal(tags, expected[0])


def test_all_classes_together_are_all_neighbours(problem):
    X, Y = problem
    model = PMM(n_classes=6, n_searched=6, n_neighbors=20).fit(X, Y)
    counts = X.copy()
    counts.data = (1 + np.log(counts.data)) * model.idf_[counts.indices]
    neighbours = KNN(n_neighbors=20, power=2.0).fit(counts, Y)
    ours, theirs = model.top_k(X, 5)[1], neighbours.top_k(counts, 5)[1]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_where_neighbours_are_searched_classes_are_larger(problem):
    X, Y = problem
    assert PMM().fit(X, Y).n_classes_ == 1
    assert PMM(scoring="soft").fit(X, Y).n_classes_ == 300 // 40


def test_votes_in_few_classes_are_those_of_a_loop_over_their_documents(problem):
    X, Y = problem
    model = PMM(n_classes=6, n_searched=2, n_neighbors=10).fit(X, Y)
    groups = np.repeat(np.arange(model.n_classes_), model.class_sizes_)
    words = np.repeat(np.arange(X.shape[1]), np.diff(model.posting_starts_[model.entry_starts_]))
    shape = (groups.size, X.shape[1])
    documents = sp.csr_matrix((model.posting_weights_, (model.posting_rows_, words)), shape=shape).toarray()
    shape = (groups.size, Y.shape[1])
    tagged = sp.csr_matrix((np.ones(model.row_tag_ids_.size), model.row_tag_ids_, model.row_tag_starts_), shape=shape)
    posterior = model.class_posterior(X)
    for i in np.flatnonzero(np.diff(X.indptr) > 0)[:40]:
        row = X[i].toarray().ravel()
        query = np.where(row > 0, (1 + np.log(np.maximum(row, 1))) * model.idf_, 0)
        allowed = np.isin(groups, np.argsort(-posterior[i], kind="stable")[:2])
        sims = np.where(allowed, documents @ (query / np.linalg.norm(query)), 0)
        nearest = np.argsort(-sims, kind="stable")[:10]
        votes = sims[nearest] ** 2
        expected = votes @ tagged[nearest].toarray() / votes.sum()
        np.testing.assert_allclose(model.predict_proba(X[i])[0], expected, atol=1e-5)


def test_the_same_bits_on_any_executor_and_number_of_threads(problem):
    models = [PMM(n_classes=5).fit(*problem, executor=executor) for executor in (None, InProcess(1), InProcess(3))]
    for name in PMM._arrays:
        for other in models[1:]:
            np.testing.assert_array_equal(getattr(models[0], name), getattr(other, name))


def test_published_is_the_paper_to_the_letter():
    model = PMM.published(n_classes=3)
    assert (model.n_classes, model.n_components, model.scoring, model.temper) == (3, 40, "hard", 1.0)
    assert (model.rank_scale, model.length, model.graph) == ("none", "raw", "raw")


def test_documents_without_words_or_tags_and_more_classes_than_documents(problem):
    X, Y = (matrix.tolil() for matrix in problem)
    X[0], X[1], Y[1], Y[2] = 0, 0, 0, 0
    model = PMM(n_classes=10_000).fit(X.tocsr(), Y.tocsr())
    assert 1 < model.n_classes_ < 100
    tags, scores = model.top_k(sp.csr_matrix((1, X.shape[1])), 3)
    expected = best_k(model.popular_[None], 3)
    np.testing.assert_array_equal(tags, expected[0])
    np.testing.assert_array_equal(scores, expected[1])


@pytest.mark.parametrize("graph", ["words", "tags", "balanced"])
def test_every_tag_of_a_document_with_words_has_a_class(graph):
    """where tags are not in the graph, that of most of their documents."""
    topic = np.repeat([0, 1, 2], 20)
    X = np.random.default_rng(0).poisson(np.where(np.arange(12) // 4 == topic[:, None], 4.0, 0.1)).astype(float)
    Y = (np.arange(6) // 2 == topic[:, None]).astype(float)
    model = PMM(n_classes=3, scoring="hard", graph=graph).fit(X, Y)
    assert set(model.tag_classes_.tolist()) == {0, 1, 2}
    best = model.top_k(X, 2)[0]
    assert (np.sort(best, axis=1) == 2 * topic[:, None] + [0, 1]).mean() > 0.95


def test_a_tag_that_no_document_has_comes_last(problem):
    X, Y = problem
    padded = sp.csr_matrix(sp.hstack([Y, sp.csr_matrix((Y.shape[0], 1))]))
    for scoring in ("hard", "soft"):
        model = PMM(n_classes=4, scoring=scoring).fit(X, padded)
        assert model.tag_classes_[-1] == model.n_classes_
        assert (model.top_k(X, padded.shape[1])[0][:, -1] == padded.shape[1] - 1).mean() > 0.9


def test_negative_counts_are_named(problem):
    X, Y = problem
    with pytest.raises(ValueError, match="expected counts of words"):
        PMM().fit(-X, Y)


@pytest.mark.parametrize("local_edges", [0, 2000])  # all cuts over shards; the first over shards, the others not
def test_cuts_go_on_from_a_checkpoint_with_the_same_bits(problem, local_edges, monkeypatch, tmp_path):
    monkeypatch.setattr(learning, "LOCAL_EDGES", local_edges)
    model = PMM(n_classes=5, max_iter=3, n_shards=3)
    whole = clone(model).fit(*problem)
    checkpoints = Checkpoints(tmp_path, "cuts", every_seconds=0)

    def stop(done, total, measures):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clone(model).fit_rows(InMemory(*problem), checkpoints=checkpoints, progress=stop)
    resumed = []
    found = clone(model).fit_rows(
        InMemory(*problem), checkpoints=checkpoints, progress=lambda done, *_: resumed.append(done)
    )
    assert resumed[0] == 3  # the cut whose checkpoint was not written is made again
    for name in PMM._arrays:
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
