"""Keyed normals against Box and Muller's formula in plain Python, and against what independent normals look like."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import stats

from tagcore.kernels.random.counter_normals import LANES, counter_normal, fill_normals, word_key

GOLDEN, WORD = 0x9E3779B97F4A7C15, 2**64 - 1
SAMPLES, WORDS, CLASSES = 40, 50, 150


def _mix(z):
    z &= WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


def _by_formula(seed, sample, word, c):
    key = _mix(seed + GOLDEN)
    for part in (sample, word, c // LANES * (LANES // 2) + c % (LANES // 2)):
        key = _mix(key + (part + 1) * GOLDEN)
    u, v = (z >> 11 for z in (key, _mix(key + GOLDEN)))
    radius, angle = math.sqrt(-2 * math.log(1 - u / 2**53)), 2 * math.pi * v / 2**53
    return radius * (math.sin(angle) if c % LANES >= LANES // 2 else math.cos(angle))


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**31), st.integers(0, 2**31), st.integers(0, 2**31))
def test_is_box_and_muller_of_the_hashed_key(seed, sample, word, c):
    expected = _by_formula(seed, sample, word, c)
    assert counter_normal(np.uint64(seed), sample, word, c) == pytest.approx(expected, rel=1e-13, abs=1e-14)


@given(st.integers(0, 9), st.integers(0, 10**6), st.integers(0, 50), st.integers(1, LANES))
def test_many_at_once_are_the_same_bits(sample, word, block, width):
    found = np.full(LANES, np.nan)
    fill_normals(np.uint64(word_key(7, sample, word)), block * LANES, width, found)
    expected = [counter_normal(7, sample, word, block * LANES + j) for j in range(width)]
    np.testing.assert_array_equal(found[:width], expected)


@njit
def _every_key(seed, draws):
    for s in range(draws.shape[0]):
        for d in range(draws.shape[1]):
            for c in range(draws.shape[2]):
                draws[s, d, c] = counter_normal(seed, s, d, c)


@pytest.fixture(scope="module")
def draws():
    draws = np.empty((SAMPLES, WORDS, CLASSES))
    _every_key(11, draws)
    return draws


def test_draws_are_standard_normal(draws):
    assert stats.kstest(draws.ravel(), "norm").pvalue > 0.01
    assert np.unique(draws).size == draws.size
    for axis in range(3):
        means = draws.mean(axis=axis).ravel() * math.sqrt(draws.shape[axis])
        assert stats.kstest(means, "norm").pvalue > 0.01  # as sums of independent draws are


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("lag", [1, 2, LANES // 2])
@pytest.mark.parametrize("power", [1, 2])
def test_neighbouring_keys_are_not_correlated(draws, axis, lag, power):
    values = np.moveaxis(draws, axis, 0) ** power
    found = np.corrcoef(values[lag:].ravel(), values[:-lag].ravel())[0, 1]
    assert abs(found) < 4 / math.sqrt(values[lag:].size)


def test_seeds_give_other_samples(draws):
    other = np.empty_like(draws)
    _every_key(12, other)
    assert abs(np.corrcoef(draws.ravel(), other.ravel())[0, 1]) < 4 / math.sqrt(draws.size)
