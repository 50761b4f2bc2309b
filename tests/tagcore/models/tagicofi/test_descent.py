"""The published descent, against the published algorithm on dense matrices."""

import numpy as np
import pytest

from tagcore.graph.similarity import Likeness, TagGraph, no_graph
from tagcore.models import TagiCoFi
from tagcore.models.tagicofi.columns_kernel import zero_rows
from tagcore.models.tagicofi.descent import DivergenceError
from tagcore.models.tagicofi.sides import Side
from tagcore.shards import InProcess
from tagcore.synthetic.ratings import PlantedRatings
from tests.tagcore.models.tagicofi.problems import M, N, dense, descend, graphs, objective, planted, sides, start


def literal(users, items, rounds, begin, step):
    """Algorithm 1: every dimension for all users at once, with w and x; then every item."""
    R, Y, L = dense(users)
    _, _, L_items = dense(items)
    U, V = begin["users"].copy(), begin["items"].copy()
    for _ in range(rounds):
        for d in range(U.shape[1]):
            w = (Y * V[:, d] ** 2).sum(axis=1)
            others = R - U @ V.T + np.outer(U[:, d], V[:, d])
            x = (Y * others * V[:, d]).sum(axis=1)
            A = users.ridge * np.eye(len(U)) + users.pull * L + np.diag(w)
            U[:, d] -= step * (A @ U[:, d] - x)
        E = Y * (R - U @ V.T)
        V = V - step * (items.ridge * V + items.pull * L_items @ V - E.T @ U)
    return U, V


@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_user_after_user_is_the_published_dimension_after_dimension(gamma):
    users, items = sides(gamma=gamma)
    U, V, _ = descend(users, items, 20, step=0.002)
    expected = literal(users, items, 20, start(), 0.002)
    np.testing.assert_allclose(U, expected[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(V, expected[1], rtol=1e-10, atol=1e-10)


def test_steps_follow_the_slope_of_the_objective():
    """a jacobi round moves users along the slope at its start, and items along that of the new users."""
    users, items = sides(gamma=2.0)
    begin, h = start(), 1e-5
    U, V, told = descend(users, items, 1, begin, step=1e-7, schedule="jacobi")
    assert told[0] == pytest.approx(objective(users, items, begin["users"], begin["items"]), rel=1e-12)
    slope = (begin["users"] - U) / 1e-7, (begin["items"] - V) / 1e-7
    rng = np.random.default_rng(0)
    for _ in range(5):
        p, q = rng.normal(size=U.shape), rng.normal(size=V.shape)
        ahead, behind = (objective(users, items, begin["users"] + s * p, begin["items"]) for s in (h, -h))
        assert (slope[0] * p).sum() == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)
        ahead, behind = (objective(users, items, U, begin["items"] + s * q) for s in (h, -h))
        assert (slope[1] * q).sum() == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)
        ahead, behind = (objective(users, items, begin["users"] + s * p, begin["items"] + s * q) for s in (h, -h))
        both = (slope[0] * p).sum() + (slope[1] * q).sum()
        assert both == pytest.approx((ahead - behind) / (2 * h), rel=1e-6, abs=1e-3)


def test_the_schedules_differ():
    users, items = sides()
    assert not np.allclose(descend(users, items, 5)[0], descend(users, items, 5, schedule="jacobi")[0], atol=1e-9)


def test_shards_and_threads_change_nothing_that_matters():
    users, items = sides(gamma=1.0)
    U, V, _ = descend(users, items, 30)
    for n_shards in (2, 7):
        parts = descend(users, items, 30, n_shards=n_shards)
        np.testing.assert_allclose(parts[0], U, atol=1e-10)
        np.testing.assert_allclose(parts[1], V, atol=1e-10)
        threads = descend(users, items, 30, n_shards=n_shards, executor=InProcess(3))
        assert all(np.array_equal(a, b) for a, b in zip(parts[:2], threads[:2], strict=True))


@pytest.mark.parametrize("schedule", ["gauss-seidel", "jacobi"])
@pytest.mark.parametrize(("beta", "gamma"), [(0.0, 0.0), (3.0, 0.0), (500.0, 50.0)])
def test_safe_steps_never_rise(schedule, beta, gamma):
    users, items = sides(beta=beta, gamma=gamma)
    told = descend(users, items, 60, step=None, schedule=schedule)[2]
    assert (np.diff(told) <= 1e-10 * told[0]).all()
    assert told[-1] < 0.9 * told[0]


def test_without_beta_the_graph_is_not_there():
    users, items = sides(beta=0.0)
    U, V, _ = descend(users, items, 10)
    alone = Side(users.values, None, no_graph(N), users.ridge, 0.0)
    for u, v, _ in (descend(alone, items, 10), descend(Side(users.values, None, no_graph(N), 0.7, 9.0), items, 10)):
        assert np.array_equal(u, U)
        assert np.array_equal(v, V)


def test_without_gamma_the_graph_of_items_is_not_there():
    users, items = sides()
    linked = Side(items.values, None, graphs()[1], items.ridge, 0.0)
    for one, other in zip(descend(users, items, 10)[:2], descend(users, linked, 10)[:2], strict=True):
        assert np.array_equal(one, other)


def test_users_without_tags_do_not_feel_beta():
    users, items = sides(beta=0.0)
    far, _ = sides(beta=500.0)
    untagged = users.graph.degrees == 0
    assert 0 < untagged.sum() < N
    U, W = descend(users, items, 1)[0], descend(far, items, 1)[0]
    assert np.array_equal(U[untagged], W[untagged])
    assert not np.array_equal(U[~untagged], W[~untagged])


def test_numbers_of_users_items_and_tags_do_not_matter():
    users, items = sides()
    U, V, _ = descend(users, items, 10)
    rng = np.random.default_rng(4)
    p, q = rng.permutation(N), rng.permutation(M)
    links = users.graph.links[p][:, p].tocsr()
    links.sort_indices()
    rated = users.values[p][:, q].tocsr()
    rated.sort_indices()
    other = TagGraph(links, users.graph.raw_degrees[p], 1.0, 1.0)
    moved = Side(rated, None, other, users.ridge, users.pull), Side(rated.T.tocsr(), None, no_graph(M), items.ridge, 0)
    begin = {"users": start()["users"][p], "items": start()["items"][q]}
    W, X, _ = descend(*moved, 10, begin)
    np.testing.assert_allclose(W, U[p], atol=1e-10)
    np.testing.assert_allclose(X, V[q], atol=1e-10)


def test_links_times_c_and_beta_over_c_are_the_same():
    users, items = sides(beta=3.0)
    strong = TagGraph(users.graph.links * 7.0, users.graph.raw_degrees, 1.0, 1.0)
    U, V, _ = descend(users, items, 20)
    W, X, _ = descend(Side(users.values, None, strong, users.ridge, 3.0 / 7.0), items, 20)
    np.testing.assert_allclose(W, U, atol=1e-10)
    np.testing.assert_allclose(X, V, atol=1e-10)


def test_ratings_times_c_scale_predictions():
    """with factors times the root of c, penalties times c and steps over c."""
    users, items, c = *sides(beta=3.0), 4.0
    scaled = Side(users.values * c, None, users.graph, users.ridge * c, users.pull * c)
    scaled_items = Side(items.values * c, None, items.graph, items.ridge * c, 0.0)
    begin = {name: np.sqrt(c) * factors for name, factors in start().items()}
    U, V, _ = descend(users, items, 20)
    W, X, _ = descend(scaled, scaled_items, 20, begin, step=0.001 / c)
    np.testing.assert_allclose(W @ X.T, c * U @ V.T, atol=1e-8)


def test_too_long_a_step_is_named_with_the_longest_that_would_do():
    rated = planted().ratings().matrix
    plain = graphs(Likeness("pearson", "common", n_neighbors=None, laplacian="plain"))[0]
    users, items = Side(rated, None, plain, 1.0, 500.0), sides()[1]
    with pytest.raises(DivergenceError, match=r"a step of 0\.001 is too long .*λ_max.* at most") as error:
        descend(users, items, 200)
    L = dense(users)[2]
    steepest = float(str(error.value).partition("of up to ")[2].partition(" ")[0])
    assert steepest >= 1.0 + 500.0 * 0.995 * np.linalg.eigvalsh(L)[-1]
    assert descend(users, items, 200, step=1.0 / steepest)[2][-1] > 0  # half of the longest leads down


def test_the_paper_to_the_letter_diverges():
    """weights of tags of 50 and steps of 0.001 on links as they are: those of hundreds of users are too steep."""
    made = PlantedRatings(300, 100, n_tags=12, ratings_per_user=8, taggings_per_user=20, taggers=1.0, seed=1)
    with pytest.raises(DivergenceError, match=r"a step of 0\.001 is too long"):
        TagiCoFi.published(laplacian="plain", random_state=0).fit(made.ratings(), made.taggings())


def test_rows_of_zeros_begin_where_a_vector_does():
    for count, width in ((1, 1), (5, 11), (3, 12)):
        rows = zero_rows(count, width)
        assert rows.shape == (count, -(-width // 4) * 4)
        assert not rows.any()
        assert rows.ctypes.data % 64 == 0
