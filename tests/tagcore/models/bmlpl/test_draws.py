"""Every law of the samplers against its distribution function, its probabilities or its moments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import special, stats

from tagcore.kernels.random.streams import open_stream
from tagcore.models.bmlpl.kernels.draws import (
    categorical,
    exponential,
    gamma,
    log_gamma,
    poisson,
    positive_poisson,
    tables,
)

N = 20_000


@njit
def one_parameter(draw, parameter, n):
    state, out = np.empty(1, np.uint64), np.empty(n)
    for i in range(n):
        open_stream(np.uint64(11), i, state)
        out[i] = draw(parameter, state)
    return out


@njit
def exponentials(n):
    state, out = np.empty(1, np.uint64), np.empty(n)
    for i in range(n):
        open_stream(np.uint64(12), i, state)
        out[i] = exponential(state)
    return out


@njit
def table_counts(customers, concentration, n):
    state, out = np.empty(1, np.uint64), np.empty(n)
    for i in range(n):
        open_stream(np.uint64(13), i, state)
        out[i] = tables(customers, concentration, state)
    return out


def agree(drawn, probability, low, high):
    """Chi-square of counts against probabilities, the rare ones pooled."""
    values = np.arange(low, high + 1)
    expected = probability(values) * drawn.size
    observed = np.array([(drawn == v).sum() for v in values])
    common = expected >= 10
    expected = np.append(expected[common], drawn.size - expected[common].sum())
    observed = np.append(observed[common], drawn.size - observed[common].sum())
    keep = expected > 1e-6 * drawn.size
    assert observed[~keep].sum() == 0
    if keep.sum() == 1:
        return observed[keep][0] == drawn.size
    scaled = expected[keep] * observed[keep].sum() / expected[keep].sum()
    return stats.chisquare(observed[keep], scaled).pvalue > 0.01


def test_exponential():
    assert stats.kstest(exponentials(N), "expon").pvalue > 0.01


@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 1.3, 4.0, 250.0])
def test_gamma(shape):
    assert stats.kstest(one_parameter(gamma, shape, N), stats.gamma(shape).cdf).pvalue > 0.01


@pytest.mark.parametrize("shape", [1e-4, 0.01, 0.5, 1.0, 30.0])
def test_log_gamma_stays_finite_where_gamma_vanishes(shape):
    drawn = one_parameter(log_gamma, shape, N)
    assert np.isfinite(drawn).all()
    assert abs(drawn.mean() - special.digamma(shape)) < 4 * drawn.std() / np.sqrt(N)
    square = (drawn - special.digamma(shape)) ** 2
    assert abs(square.mean() - special.polygamma(1, shape)) < 4 * square.std() / np.sqrt(N)


def test_small_gammas_vanish_and_their_logarithms_do_not():
    assert (one_parameter(gamma, 1e-4, 100) == 0).any()
    assert (one_parameter(log_gamma, 1e-4, 100) < -746).any()


@pytest.mark.parametrize("mean", [0.0, 1e-3, 0.6, 9.99, 10.0, 60.0, 3e4])
def test_poisson(mean):
    drawn = one_parameter(poisson, mean, N)
    width = int(8 * np.sqrt(mean)) + 8
    if mean > 1e3:
        assert abs(drawn.mean() - mean) < 4 * np.sqrt(mean / N)
        assert stats.kstest(drawn + np.random.default_rng(0).random(N), uniformised(mean)).pvalue > 0.01
    else:
        assert agree(drawn, stats.poisson(mean).pmf, max(int(mean) - width, 0), int(mean) + width)


def uniformised(mean):
    """The distribution function of a Poisson count plus an independent uniform."""
    law = stats.poisson(mean)
    return lambda x: law.cdf(np.floor(x) - 1) + (x - np.floor(x)) * law.pmf(np.floor(x))


@pytest.mark.parametrize("mean", [0.0, 1e-13, 1e-6, 0.05, 1.0, 4.0, 35.0])
def test_positive_poisson(mean):
    drawn = one_parameter(positive_poisson, mean, N)
    assert drawn.min() >= 1

    def probability(k):
        if mean < 1e-5:
            return (k == 1).astype(float)
        return stats.poisson(mean).pmf(k) / -np.expm1(-mean)

    assert agree(drawn, probability, 1, int(mean + 8 * np.sqrt(mean)) + 8)


@pytest.mark.parametrize(("customers", "concentration"), [(0, 1.0), (1, 0.2), (2, 0.01), (5, 1.0), (12, 3.5), (9, 1e3)])
def test_tables(customers, concentration):
    chances = np.array([1.0])  # of t tables after every customer, one customer at a time
    for j in range(customers):
        opens = concentration / (concentration + j)
        chances = np.append(chances * (1 - opens), 0) + np.append(0, chances * opens)
    assert agree(table_counts(customers, concentration, N), lambda t: chances[t], 0, customers)


@pytest.mark.parametrize("weights", [[1.0], [0.0, 2.0, 0.0, 1.0, 0.0], [1e-300, 3e-300], [0.0, 0.0, 0.0]])
def test_categorical(weights):
    weights = np.array(weights)
    chances = weights / weights.sum() if weights.any() else np.full(weights.size, 1 / weights.size)
    drawn = one_parameter(categorical, np.cumsum(weights), N)
    assert agree(drawn, lambda k: chances[k], 0, weights.size - 1)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=9).filter(any))
def test_categorical_never_picks_a_weight_of_zero(weights):
    weights = np.array(weights)
    running = np.cumsum(weights)
    grows = np.diff(running, prepend=0.0) > 0
    assert grows[one_parameter(categorical, running, 50).astype(int)].all()
