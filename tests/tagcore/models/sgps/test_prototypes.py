"""Prototypes: how many of each class, where they begin, how they descend, which rows inform most."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from tagcore.models.sgps import descent
from tagcore.models.sgps.descent import DescentSettings, descend, losses_and_pulls, pull_step, snap
from tagcore.models.sgps.information import most_informative, pool_size, probit_sites
from tagcore.models.sgps.prototypes import class_centres, class_wise_rows, number_of_prototypes, share_out
from tagcore.models.sgps.rows import LabelledMatrix
from tagcore.numeric.covariance import SquaredExponential
from tagcore.numeric.dots import squared_distances
from tagcore.shards import InProcess, Shard
from tests.tagcore.models.sgps.problems import SmallShards, three_classes

X, Y = three_classes(90)
START, CLASSES = np.array(X[:12]), Y[:12]


@given(st.integers(1, 60), st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any))
def test_every_class_has_its_share(count, sizes):
    sizes = np.array(sizes)
    classes = np.repeat(np.arange(sizes.size), sizes)
    shares = share_out(count, classes, sizes.size, np.random.default_rng(0).random(classes.size))
    assert (shares <= sizes).all()
    assert (shares[sizes > 0] >= 1).all()
    assert shares.sum() == min(max(count, np.count_nonzero(sizes)), sizes.sum())
    if shares.min() > 1:
        assert np.abs(shares - min(count, sizes.sum()) * sizes / sizes.sum()).max() <= len(sizes)


@pytest.mark.parametrize(
    ("wanted", "expected"), [(None, 50), (0.1, 100), (7, 7), (1, 3), (5000, 200), (0.0001, 3), (1.0, 200)]
)
def test_how_many(wanted, expected):
    assert number_of_prototypes(wanted, 1000, 3, 200) == expected
    assert number_of_prototypes(wanted, 4, 3, 200) <= 4
    assert number_of_prototypes(wanted, 1000, 300, 200) == 300  # one a class, though these are more than allowed


def test_rows_of_every_class_and_centres_of_it():
    shares = np.array([2, 3, 4])
    numbers = class_wise_rows(Y, shares, np.random.default_rng(0).random(90))
    assert np.array_equal(np.bincount(Y[numbers]), shares)
    centres, classes = class_centres(LabelledMatrix(X, Y), shares, np.random.default_rng(0))
    assert np.array_equal(np.bincount(classes), shares)
    for c in range(3):
        own = squared_distances(X[c == Y], centres[classes == c]).min(axis=1).sum()
        rows = squared_distances(X[c == Y], X[numbers[Y[numbers] == c]]).min(axis=1).sum()
        assert own < rows
    of_csr, _ = class_centres(LabelledMatrix(sp.csr_matrix(X), Y), shares, np.random.default_rng(0))
    np.testing.assert_allclose(of_csr, centres, atol=1e-12)


def mean_loss(Z, spacing=0.7):
    return losses_and_pulls(squared_distances(X, Z), Y, CLASSES, spacing)[0].mean()


def slope(Z, spacing=0.7):
    """the slope of the mean loss by the prototypes, from what the step gives."""
    turn = {"seed": 0, "epoch": 0, "batch": 0, "batches": 1}
    squares = (Z**2).sum(axis=1)
    pull = pull_step(Shard(0, 0, (X, Y)), {}, Z.T, squares, CLASSES, spacing, 0.0, turn)
    assert pull["rows"] == 90
    assert pull["loss"] / 90 == pytest.approx(mean_loss(Z, spacing))
    return -(pull["pull"].T - pull["mass"][:, None] * Z) / spacing**2 / 90


def test_the_pull_is_the_slope_of_the_loss():
    found = slope(START)
    for m, d in [(0, 0), (3, 1), (11, 2)]:
        step = np.zeros_like(START)
        step[m, d] = 1e-5
        difference = (mean_loss(START + step) - mean_loss(START - step)) / 2e-5
        assert found[m, d] == pytest.approx(difference, abs=1e-8)


def test_small_steps_of_all_rows_never_raise_the_loss():
    Z, step = START.copy(), 5.0
    losses = [mean_loss(Z)]
    for _ in range(40):
        moved = Z - step * slope(Z)
        while mean_loss(moved) > losses[-1]:
            step /= 2
            moved = Z - step * slope(Z)
        Z = moved
        losses.append(mean_loss(Z))
    assert losses[-1] < 0.8 * losses[0]
    assert (np.diff(losses) <= 0).all()


def shards(rows, count=3, threads=1):
    return SmallShards(count, False, InProcess(threads)).shards(LabelledMatrix(rows, Y))


def test_the_descent_lowers_the_loss_whoever_works_on_it():
    settings = DescentSettings(epochs=5)
    found = descend(shards(X), START, CLASSES, 90, settings)
    assert mean_loss(found) < mean_loss(START)
    assert np.array_equal(found, descend(shards(X, threads=2), START, CLASSES, 90, settings))
    of_csr = descend(shards(sp.csr_matrix(X)), START, CLASSES, 90, settings)
    np.testing.assert_allclose(of_csr, found, atol=1e-10)


def test_rows_outside_of_the_window_do_not_pull():
    turn = {"seed": 0, "epoch": 0, "batch": 0, "batches": 1}
    squares = (START**2).sum(axis=1)
    losses, pulls = losses_and_pulls(squared_distances(X, START), Y, CLASSES, 0.7)
    inside = losses * (1 - losses) >= 0.1
    assert 0 < inside.sum() < 90
    found = pull_step(Shard(0, 0, (X, Y)), {}, START.T, squares, CLASSES, 0.7, 0.1, turn)
    np.testing.assert_allclose(found["pull"].T, pulls[inside].T @ X[inside], atol=1e-12)
    np.testing.assert_allclose(found["mass"], pulls[inside].sum(axis=0), atol=1e-12)
    assert found["loss"] == pytest.approx(losses.sum())


def test_mini_batches_take_every_row_once_an_epoch():
    seen = np.concatenate(
        [
            pull_step(
                Shard(0, 30, (np.arange(90.0)[:, None], Y)),
                {},
                np.zeros((1, 1)),
                np.zeros(1),
                np.zeros(1, int),
                1.0,
                0.0,
                {"seed": 1, "epoch": 2, "batch": batch, "batches": 4},
            )["rows"]
            * np.ones(1)
            for batch in range(4)
        ]
    )
    assert seen.sum() == 90


def test_an_epoch_of_many_rows_has_few_batches(monkeypatch):
    """each goes through all prototypes, so that hundreds of thousands of rows once took for ever."""
    settings = DescentSettings(epochs=2)
    monkeypatch.setattr(descent, "_BATCH_ROWS", 30)
    three = descend(shards(X), START, CLASSES, 90, settings)
    monkeypatch.setattr(descent, "_BATCH_ROWS", 1)
    monkeypatch.setattr(descent, "_MOST_BATCHES", 3)
    assert np.array_equal(descend(shards(X), START, CLASSES, 90, settings), three)


def test_prototypes_that_lie_on_all_rows_stay():
    assert np.array_equal(descend(shards(X), X, Y, 90, DescentSettings()), X)


def test_snapping_takes_the_nearest_row_of_the_class_and_no_row_twice():
    moved = START + 1e-3
    assert np.array_equal(snap(shards(X), moved, CLASSES), np.arange(12))
    twice = np.repeat(START[:1], 5, axis=0)
    found = snap(shards(X, count=4), twice, np.repeat(CLASSES[:1], 5))
    nearest = np.flatnonzero(CLASSES[0] == Y)[np.argsort(squared_distances(X[CLASSES[0] == Y], START[:1])[:, 0])[:5]]
    assert np.array_equal(found, np.sort(nearest))


def test_sites_match_the_moments_of_a_probit_likelihood():
    sign, mean, variance = np.array([[1.0, -1.0]]), np.array([[0.3, 0.8]]), np.array([[0.5, 2.0]])
    slopes, precisions = probit_sites(sign, mean, variance)
    grid = np.linspace(-12, 12, 200_001)
    for i in range(2):
        weights = norm.cdf(sign[0, i] * grid) * norm.pdf(grid, mean[0, i], np.sqrt(variance[0, i]))
        weights /= weights.sum()
        first = weights @ grid
        second = weights @ (grid - first) ** 2
        assert mean[0, i] + variance[0, i] * slopes[0, i] == pytest.approx(first, abs=1e-6)
        assert variance[0, i] * (1 - variance[0, i] * precisions[0, i]) == pytest.approx(second, abs=1e-6)


def test_information_gain_takes_rows_as_whole_covariances_would():
    """the same choice with every class's posterior written out, N × N."""
    k, count = SquaredExponential(1.0, 2.0), 6
    found = most_informative(X[:25], Y[:25], 3, k, count)
    signs = np.where(np.arange(3)[:, None] == Y[:25], 1.0, -1.0)
    means, covariances = np.zeros((3, 25)), np.stack([k.between(X[:25], X[:25])] * 3)
    taken = []
    for _ in range(count):
        variances = np.diagonal(covariances, axis1=1, axis2=2)
        slopes, precisions = probit_sites(signs, means, variances)
        gains = -0.5 * np.log1p(-precisions * variances).sum(axis=0)
        gains[taken] = -np.inf
        i = int(gains.argmax())
        taken.append(i)
        for c in range(3):
            column = covariances[c, :, i].copy()
            means[c] += slopes[c, i] * column
            covariances[c] -= precisions[c, i] * np.outer(column, column)
    assert found.tolist() == taken


def test_the_pool_of_candidates_is_bounded():
    assert pool_size(1000, 3, 50) == 1000
    assert pool_size(1_000_000, 26, 200) == 5000
    assert pool_size(1_000_000, 1000, 2000) == 2000
