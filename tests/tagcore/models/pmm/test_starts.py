"""Where topics and components begin: cuts from few singular triplets, k-means on spectral coordinates."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from tagcore.models import PMM
from tagcore.models.pmm import learning
from tagcore.models.pmm.growing import word_counts
from tagcore.models.pmm.starts import k_means, kmeans_components


def topics_of_two_kinds(seed=0):
    """(counts, tags, kind of every document): two topics, far apart, of two kinds of documents each; in any order."""
    rng = np.random.default_rng(seed)
    kinds = rng.permutation(np.repeat(np.arange(4), 30))
    rates = np.full((4, 40), 0.01)
    for kind in range(4):
        rates[kind, 20 * (kind // 2) : 20 * (kind // 2) + 8] = 0.6  # words of the topic
        rates[kind, 20 * (kind // 2) + 8 + 6 * (kind % 2) :][:6] = 1.5  # words of the kind
    Y = np.eye(2)[kinds // 2]
    return sp.csr_matrix(rng.poisson(rates[kinds]).astype(float)), sp.csr_matrix(Y), kinds


@pytest.mark.parametrize("seed", range(3))
def test_points_go_to_the_nearest_mean(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(80, 3)) + 4 * rng.integers(0, 3, (80, 1))
    found = k_means(points, 4, np.random.default_rng(seed))
    means = np.array([points[found == c].mean(axis=0) for c in range(4)])
    squares = ((points[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found, squares.argmin(axis=1))
    best = KMeans(4, n_init=5, random_state=0).fit(points).inertia_
    assert squares.min(axis=1).sum() < 1.5 * best
    np.testing.assert_array_equal(found, k_means(points, 4, np.random.default_rng(seed)))


def test_fewer_different_points_than_centres_are_parted():
    points = np.repeat([[0.0, 1.0], [2.0, 0.0]], 5, axis=0)
    found = k_means(points, 4, np.random.default_rng(0))
    assert len(set(found[:5])) == len(set(found[5:])) == 1
    assert found[0] != found[5]


def test_components_are_numbered_inside_their_class():
    points = np.array([[0.0], [9.0], [0.1], [9.1], [5.0], [0.2]])
    labels = np.array([0, 0, 0, 0, 1, -1])
    found = kmeans_components(points, labels, np.array([2, 1]), 3)
    assert found[0] == found[2] != found[1] == found[3]
    assert found[:4].max() == 1
    assert found[4] == found[5] == 0


def test_components_begin_as_the_kinds_of_documents_of_a_topic():
    X, Y, _ = topics_of_two_kinds()
    settings = {"n_classes": 2, "n_components": 4, "n_word_clusters": 60, "max_iter": 1, "scoring": "soft"}
    model = PMM(start="kmeans", low_rank=4, **settings).fit(X, Y)  # by topic, and by kind in each
    assert model.class_sizes_.tolist() == [60, 60]
    words = word_counts(model).toarray()
    of_kinds = np.column_stack([words[:, first : first + 6].sum(axis=1) for first in (8, 14, 28, 34)])
    shares = of_kinds / of_kinds.sum(axis=1, keepdims=True)
    assert sorted(shares.argmax(axis=1)) == [0, 1, 2, 3]
    assert shares.max(axis=1).min() > 0.9
    again, drawn = (PMM(start=start, low_rank=4, **settings).fit(X, Y) for start in ("kmeans", "random"))
    for name in PMM._arrays:
        np.testing.assert_array_equal(getattr(model, name), getattr(again, name))
    assert not np.array_equal(model.rates_, drawn.rates_)
    assert PMM(start="kmeans", **settings).fit(X, Y).captured_ == 1  # the cuts themselves see all edges


def test_a_model_cut_from_all_triplets_is_that_of_the_edges(monkeypatch):
    X, Y, _ = topics_of_two_kinds()
    settings = {"n_classes": 4, "n_word_clusters": 4, "max_iter": 2, "scoring": "soft"}
    exact, whole, few = (PMM(low_rank=k, **settings).fit(X, Y) for k in (None, 42, 4))
    np.testing.assert_allclose(whole.splits_, exact.splits_, atol=1e-6)
    np.testing.assert_array_equal(whole.tag_classes_, exact.tag_classes_)
    assert exact.captured_ == 1
    assert whole.captured_ == pytest.approx(1)
    assert 0 < few.captured_ < 0.9
    assert few.class_sizes_.sum() == 120
    assert few.parts()["facts"]["captured_"] == few.captured_
    monkeypatch.setattr(learning, "LOCAL_EDGES", 10)
    for asked in ({"low_rank": 4}, {"start": "kmeans"}):
        with pytest.raises(ValueError, match="more than 10 edges"):
            PMM(**asked, **settings).fit(X, Y)


@pytest.mark.parametrize("length", ["exposure", "raw"])
def test_isolated_documents_teach_nothing_and_have_the_class_of_greatest_posterior(length):
    """a document without words and tags is asked by its prior alone, and the answer is the same if it was learnt from:
    which class it is in makes no difference but to the number of documents of that class."""
    X, Y, _ = topics_of_two_kinds()
    settings = {"n_classes": 2, "n_word_clusters": 4, "max_iter": 2, "scoring": "soft", "length": length, "n_shards": 1}
    plain = PMM(**settings).fit(X, Y)
    isolated = [sp.csr_matrix((3, matrix.shape[1])) for matrix in (X, Y)]
    model = PMM(**settings).fit(*(sp.vstack([m, more], format="csr") for m, more in zip((X, Y), isolated, strict=True)))
    for name in set(PMM._arrays) - {"idf_", "popular_"}:  # these are shares of all documents
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))
    posterior = model.class_posterior(isolated[0])
    s = 0.0 if length == "exposure" else 1.0
    likelihood = model.component_shares_ * np.exp(-s * model.temper * model.mass_)
    expected = np.add.reduceat(likelihood, model.class_starts_[:-1])
    np.testing.assert_allclose(posterior, np.tile(expected / expected.sum(), (3, 1)), rtol=1e-4)
