"""The graph of those who tag alike, against double loops over all pairs."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tagcore.graph import similarity
from tagcore.graph.profiles import TagProfiles, item_tag_counts, rated_tag_counts, user_tag_counts
from tagcore.graph.similarity import Likeness, raw_links, scaled_links, tag_graph
from tagcore.ratings import Ratings, UserTaggings
from tagcore.shards import InProcess
from tagcore.store.schemas import ITEM_TAGS

PLAIN = {"n_neighbors": None, "laplacian": "plain"}
WAYS = [("cosine", "common"), ("cosine", "own"), ("pearson", "common"), ("pearson", "own"), ("euclidean", "common")]
COUNTS = st.lists(st.lists(st.sampled_from([0, 0, 1, 2, 5]), min_size=6, max_size=6), min_size=1, max_size=9)


def profiles_of(counts):
    return TagProfiles.of(sp.csr_matrix(np.asarray(counts, float)))


def drawn(n=25, tags=12, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(0.7, (n, tags)) * (rng.random((n, 1)) < 0.9)


def weights_of(counts):
    """tf · idf by the letter of the specification."""
    counts = np.asarray(counts, float)
    tagged = sum(row.any() for row in counts)
    Z = np.zeros(counts.shape)
    for i, row in enumerate(counts):
        for k in np.flatnonzero(row):
            Z[i, k] = row[k] / row.sum() * math.log(tagged / np.count_nonzero(counts[:, k]))
    return Z


def raw_likeness(counts, Z, measure, scope, i, j):
    """(how alike, common tags) by the weights Z; None where there is none."""
    counts = np.asarray(counts)
    T = [k for k in range(counts.shape[1]) if counts[i, k] and counts[j, k]]
    if not T or i == j:
        return None, 0
    x, y = Z[i, T], Z[j, T]
    if measure == "euclidean":
        return ((x - y) ** 2).sum(), len(T)
    if measure == "cosine":
        a, b = (x, y) if scope == "common" else (Z[i], Z[j])
        norm = math.sqrt((a**2).sum() * (b**2).sum())
        return ((x * y).sum() / norm if norm else 0.0), len(T)
    mx, my = (x.mean(), y.mean()) if scope == "common" else (Z[i][counts[i] > 0].mean(), Z[j][counts[j] > 0].mean())
    a, b = x - mx, y - my
    if (a**2).sum() <= 1e-12 * len(T) * mx**2 or (b**2).sum() <= 1e-12 * len(T) * my**2:
        return 0.0, len(T)
    return (a * b).sum() / math.sqrt((a**2).sum() * (b**2).sum()), len(T)


MAPS = {
    "sigmoid": lambda r: 1 / (1 + math.exp(-r)),
    "affine": lambda r: (1 + r) / 2,
    "clip": lambda r: max(0.0, r),
    "exp": lambda r: math.exp(r - 1),
}


def brute(counts, measure, scope, positive="sigmoid", min_common=1):
    n, Z = len(counts), weights_of(counts)
    found = {(i, j): raw_likeness(counts, Z, measure, scope, i, j) for i in range(n) for j in range(n)}
    found = {pair: (value, common) for pair, (value, common) in found.items() if common >= max(min_common, 1)}
    distances = [math.sqrt(d) for d, _ in found.values() if d > 0]
    sigma = float(np.median(distances)) if distances else 1.0
    S = np.zeros((n, n))
    for (i, j), (value, _) in found.items():
        if measure == "euclidean":
            S[i, j] = math.exp(-value / (2 * sigma**2))
        else:
            S[i, j] = value if measure == "cosine" else MAPS[positive](value)
    return S


@pytest.mark.parametrize(("measure", "scope"), WAYS)
@given(counts=COUNTS)
@settings(max_examples=25, deadline=None)
def test_every_measure_is_that_of_a_double_loop(measure, scope, counts):
    found = tag_graph(profiles_of(counts), Likeness(measure, scope, **PLAIN)).links
    np.testing.assert_allclose(found.toarray(), brute(counts, measure, scope), rtol=0, atol=1e-12)


@pytest.mark.parametrize("positive", MAPS)
def test_every_map_makes_pearson_positive(positive):
    found = tag_graph(profiles_of(drawn()), Likeness("pearson", "common", positive, **PLAIN)).links
    np.testing.assert_allclose(found.toarray(), brute(drawn(), "pearson", "common", positive), atol=1e-12)
    assert found.data.min() > 0


@pytest.mark.parametrize(("measure", "scope"), WAYS)
@pytest.mark.parametrize("n_neighbors", [None, 4])
def test_links_are_symmetric_to_the_bit_and_the_same_in_any_shards(measure, scope, n_neighbors):
    profiles, likeness = profiles_of(drawn(60)), Likeness(measure, scope, n_neighbors=n_neighbors)
    whole = tag_graph(profiles, likeness)
    assert (whole.links != whole.links.T).nnz == 0
    assert whole.links.diagonal().sum() == 0
    for n_shards in (2, 7):
        parts = tag_graph(profiles, likeness, InProcess(2), n_shards)
        np.testing.assert_array_equal(parts.links.toarray(), whole.links.toarray())
        np.testing.assert_array_equal(parts.raw_degrees, whole.raw_degrees)


@pytest.mark.parametrize(("measure", "scope"), WAYS)
def test_numbers_of_rows_and_tags_do_not_matter(measure, scope):
    counts, rng, likeness = drawn(), np.random.default_rng(3), Likeness(measure, scope, n_neighbors=None)
    rows, tags = rng.permutation(25), rng.permutation(12)
    links, other = (tag_graph(profiles_of(c), likeness).links.toarray() for c in (counts, counts[rows][:, tags]))
    np.testing.assert_allclose(other, links[np.ix_(rows, rows)], rtol=0, atol=1e-12)


@given(counts=COUNTS, k=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_a_row_keeps_its_most_alike_and_those_who_chose_it(counts, k):
    S, n = brute(counts, "cosine", "common"), len(counts)
    S = np.round(S, 9)  # equal ones tie, whatever rounding did
    used = (np.asarray(counts) > 0).astype(int)
    common = used @ used.T * ~np.eye(n, dtype=bool)
    chosen = np.zeros((n, n), bool)
    for i in range(n):
        linked = [j for j in range(n) if common[i, j]]
        for j in sorted(linked, key=lambda j: (-S[i, j], -common[i, j], j))[:k]:
            chosen[i, j] = True
    found = tag_graph(profiles_of(counts), Likeness("cosine", "common", n_neighbors=k, laplacian="plain")).links
    values = found.toarray()
    assert ((values > 0) <= (S > 0)).all()
    if len(set(S[S > 0])) == np.count_nonzero(np.triu(S)):  # without ties
        np.testing.assert_allclose(values, np.where(chosen | chosen.T, S, 0), atol=1e-8)


def test_ties_go_to_more_common_tags_then_to_the_lower_row():
    """cosine over one common tag is 1 for all."""
    counts = [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0]]
    likeness = Likeness("cosine", "common", n_neighbors=1, laplacian="plain")
    flat = TagProfiles(sp.csr_matrix(np.array(counts, float)), np.ones(4))
    assert raw_links(flat, np.arange(4), flat, 1.0, likeness).indices.tolist() == [3, 0, 0, 0]


def test_few_common_tags_weak_links_and_frequent_tags_may_be_left_out():
    counts = drawn(40, 8, 3)
    profiles, S = profiles_of(counts), brute(counts, "pearson", "common")
    common = (counts > 0).astype(int) @ (counts > 0).T.astype(int)
    np.fill_diagonal(common, 0)
    strict = tag_graph(profiles, Likeness("pearson", "common", min_common=3, **PLAIN)).links.toarray()
    np.testing.assert_allclose(strict, np.where(common >= 3, S, 0), atol=1e-12)
    strong = tag_graph(profiles, Likeness("pearson", "common", threshold=0.55, **PLAIN)).links.toarray()
    np.testing.assert_allclose(strong, np.where(S > 0.55, S, 0), atol=1e-12)
    frequency = (counts > 0).sum(axis=0)
    most = int(np.median(frequency))
    proposed = (counts > 0)[:, frequency <= most].astype(int)
    proposed = (proposed @ proposed.T > 0) & ~np.eye(40, dtype=bool)
    rare = tag_graph(profiles, Likeness("pearson", "common", max_df=most, **PLAIN)).links.toarray()
    np.testing.assert_allclose(rare, np.where(proposed, S, 0), atol=1e-12)
    assert 0 < proposed.sum() < np.count_nonzero(common)


def test_links_are_scaled_by_degrees():
    S = brute(drawn(), "cosine", "own")
    d = S.sum(axis=1)
    root = np.divide(1, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
    expected = {"plain": S, "sym": S * root * root[:, None], "maxdeg": S / d.max(), "meandeg": S / d.mean()}
    for laplacian, links in expected.items():
        graph = tag_graph(profiles_of(drawn()), Likeness(n_neighbors=None, laplacian=laplacian))
        np.testing.assert_allclose(graph.links.toarray(), links, atol=1e-12)
        np.testing.assert_allclose(graph.degrees, links.sum(axis=1), atol=1e-12)
        np.testing.assert_allclose(graph.raw_degrees, d, atol=1e-12)
    assert graph.facts()["links"] == np.count_nonzero(S)
    assert graph.facts()["isolated"] == np.mean(d == 0)


def test_a_tag_that_everyone_has_changes_cosine_over_own_tags_in_nothing():
    counts = drawn() + (np.arange(12) == 0)  # each has a tag
    everyone = np.column_stack([counts, np.full(25, 3)])
    tf = counts / everyone.sum(axis=1, keepdims=True)  # what others weigh beside it
    before = profiles_of(counts)
    before = TagProfiles(sp.csr_matrix(tf), before.idf)
    before.__dict__["weights"] = sp.csr_matrix(tf).data * before.idf[sp.csr_matrix(tf).indices]
    after = profiles_of(everyone)
    likeness = Likeness("cosine", "own", **PLAIN)
    one, other = (tag_graph(profiles, likeness).links.toarray() for profiles in (before, after))
    np.testing.assert_allclose(other, one, atol=1e-12)
    assert np.count_nonzero(tag_graph(after, Likeness("pearson", "common", **PLAIN)).links.toarray()) == 25 * 24


@pytest.mark.parametrize("laplacian", similarity.LAPLACIANS)
@pytest.mark.parametrize(("measure", "scope"), WAYS)
def test_a_row_that_asks_again_finds_its_own_links(measure, scope, laplacian):
    profiles, likeness = profiles_of(drawn()), Likeness(measure, scope, n_neighbors=None, laplacian=laplacian)
    graph = tag_graph(profiles, likeness)
    again = raw_links(profiles, np.arange(25), profiles, graph.sigma, likeness)
    again = scaled_links(again, graph.raw_degrees, graph.factor, likeness)
    np.testing.assert_allclose(again.toarray(), graph.links.toarray(), rtol=1e-14, atol=0)


def test_rows_without_tags_are_alone_and_no_tags_are_no_links():
    counts = np.array([[1, 1], [0, 0], [1, 2]])
    graph = tag_graph(profiles_of(counts), Likeness("euclidean", **PLAIN))
    assert graph.raw_degrees[1] == 0
    assert tag_graph(TagProfiles.of(sp.csr_matrix((3, 0))), Likeness()).links.nnz == 0


def test_a_graph_that_no_memory_holds_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(similarity, "MOST_LINKS", 10)
    with pytest.raises(ValueError, match=r"a graph of up to .* links, expected at most 10: n_neighbors"):
        tag_graph(profiles_of(drawn()), Likeness(n_neighbors=None))
    monkeypatch.setattr(similarity, "MOST_CANDIDATES", 10)
    with pytest.raises(ValueError, match=r"pairs of rows share a tag.*max_df"):
        tag_graph(profiles_of(drawn()), Likeness(n_neighbors=1))


def test_rows_without_a_tag_take_no_room(monkeypatch):
    few = drawn()
    many = np.vstack([few, np.zeros((1000, few.shape[1]))])
    monkeypatch.setattr(similarity, "MOST_LINKS", len(few) ** 2)
    links = tag_graph(profiles_of(many), Likeness(n_neighbors=10**8)).links
    assert links.nnz == tag_graph(profiles_of(few), Likeness(n_neighbors=None)).links.nnz > 0


def test_a_tagging_that_is_told_twice_counts_once():
    ratings = Ratings.from_values(["a", "a", "b"], ["x", "y", "x"], [1, 1, 1])
    told = [("a", "x", "t"), ("a", "x", "t"), ("a", "y", "t"), ("b", "x", "t"), ("a", "x", "s")]
    taggings = UserTaggings.from_values(ratings, *map(list, zip(*told, strict=True)))
    assert user_tag_counts(taggings, 2).toarray().tolist() == [[2, 1], [1, 0]]
    assert item_tag_counts(taggings, 2).toarray().tolist() == [[2, 1], [1, 0]]
    assert user_tag_counts(None, 2).shape == item_tag_counts(None, 2).shape == (2, 0)
    genres = pa.table({"item": [1, 1], "tag": [1, 0]}, schema=ITEM_TAGS)
    taggings = replace(taggings, item_tags=genres)
    assert item_tag_counts(taggings, 2).toarray().tolist() == [[2, 1], [2, 1]]
    assert user_tag_counts(taggings, 2).toarray().tolist() == [[2, 1], [1, 0]]
    assert rated_tag_counts(taggings, ratings.matrix).toarray().tolist() == [[2, 2], [1, 1]]
