"""Streams keyed by number: uniform, normal and alias draws against the distributions they name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import stats

from tagcore.kernels.random.streams import branch, build_alias, draw_alias, normal, open_stream, uniform


@njit
def sample(draws, seed, kind):
    out = np.empty(draws)
    state = np.empty(1, np.uint64)
    for i in range(draws):
        open_stream(seed, i, state)
        out[i] = uniform(state) if kind == 0 else normal(state)
    return out


@njit
def sample_row(row, draws, tables):
    out = np.empty(draws, np.int64)
    state = np.empty(1, np.uint64)
    open_stream(np.uint64(1), row, state)
    for i in range(draws):
        out[i] = draw_alias(row, tables, state)
    return out


def test_first_draws_of_neighbouring_streams_are_independent():
    drawn = sample(20_000, np.uint64(5), 0)
    assert stats.kstest(drawn, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.03
    assert stats.kstest(sample(20_000, np.uint64(5), 1), "norm").pvalue > 1e-3


def test_purposes_do_not_share_draws():
    seeds = {int(branch(np.uint64(s), p)) for s in range(50) for p in range(1, 5)}
    assert len(seeds) == 200


@given(st.lists(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30), min_size=1, max_size=5))
def test_alias_tables_add_up_to_the_weights(rows):
    starts = np.cumsum([0] + [len(row) for row in rows])
    _, keep, other = build_alias(starts, np.concatenate(rows))
    for row, low, high in zip(rows, starts, starts[1:], strict=False):
        mass = np.zeros(high - low)
        for j in range(low, high):
            assert low <= other[j] < high
            mass[j - low] += keep[j]
            mass[other[j] - low] += 1 - keep[j]
        np.testing.assert_allclose(mass / mass.sum(), np.array(row) / np.sum(row), atol=1e-12)


def test_alias_draws_follow_the_weights():
    starts = np.array([0, 3, 8])
    weights = np.array([5.0, 1.0, 2.0, 1.0, 1.0, 6.0, 0.5, 0.01])
    drawn = sample_row(1, 40_000, build_alias(starts, weights))
    shares = np.bincount(drawn, minlength=8)[3:] / drawn.size
    assert drawn.min() >= 3
    assert shares == pytest.approx(weights[3:] / weights[3:].sum(), abs=0.01)
