"""BOMC in parts against the one stream: what is exact, what merges keep, what the approximations cost."""

import numpy as np
import pytest

from tagcore.models import BOMC
from tagcore.models.bomc.shards import gained_evidence, merge_edges, merged_hub
from tagcore.shards import InProcess
from tests.problems import nearly_linear, noisy


def scores(model, X):
    return np.concatenate([block for _, block in model.score_blocks(X)])


def test_the_merge_of_one_shard_is_what_it_learnt():
    before, after = (0.3, 2.0), (1.1, 0.4)
    assert merged_hub(before, gained_evidence(before, after)) == pytest.approx(after, rel=1e-12)


def test_a_merge_does_not_depend_on_the_order_of_shards():
    rng = np.random.default_rng(0)
    before, learnt = (0.3, 2.0), [(rng.normal(), rng.uniform(0.1, 1)) for _ in range(5)]
    gains = np.array([gained_evidence(before, after) for after in learnt])
    one, other = (merged_hub(before, gains[order].sum(axis=0)) for order in (slice(None), slice(None, None, -1)))
    assert one == pytest.approx(other, rel=1e-13)
    assert one[1] < min(variance for _, variance in learnt)


def test_a_gaussian_product_is_merged_exactly():
    """evidence that is Gaussian adds up whatever shard saw it."""
    before, evidence = (0.0, 4.0), [(1.0, 0.5), (-2.0, 0.1), (0.4, 3.0)]
    precision = 1 / before[1] + sum(1 / v for _, v in evidence)
    wanted = (before[0] / before[1] + sum(m / v for m, v in evidence)) / precision, 1 / precision
    afters = [
        ((before[0] / before[1] + m / v) / (1 / before[1] + 1 / v), 1 / (1 / before[1] + 1 / v)) for m, v in evidence
    ]
    gained = np.sum([gained_evidence(before, after) for after in afters], axis=0)
    assert merged_hub(before, gained) == pytest.approx(wanted, rel=1e-12)


def test_one_class_shard_is_the_one_stream():
    X, Y = noisy()
    settings = {"dtype": "float64", "warm_up": 20, "merge_every": 30}
    one, sequential = (
        BOMC.published(parallel="classes", n_shards=1, **settings).fit(X, Y),
        BOMC.published(dtype="float64").fit(X, Y),
    )
    np.testing.assert_allclose(one.mean_, sequential.mean_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.bias_mean_, sequential.bias_mean_, rtol=1e-9)


def test_rows_within_the_warm_up_are_exact():
    X, Y = noisy()
    sharded, sequential = (
        BOMC.published(parallel="classes", n_shards=4, warm_up=1000).fit(X, Y),
        BOMC.published().fit(X, Y),
    )
    assert np.array_equal(sharded.mean_, sequential.mean_)
    assert np.array_equal(sharded.bias_variance_, sequential.bias_variance_)


def test_class_shards_with_hub_merge_score_as_the_stream_does():
    X, Y = nearly_linear(n=2500, tags=12)
    sequential = scores(BOMC.published().fit(X, Y), X)
    sharded = scores(BOMC.published(parallel="classes", n_shards=4, warm_up=500, merge_every=250).fit(X, Y), X)
    assert np.corrcoef(sharded.ravel(), sequential.ravel())[0, 1] > 0.999


def test_merges_are_further_and_further_apart():
    edges = np.array(merge_edges(1000, 100_000, None))
    assert edges[0] == 1000
    assert edges[-1] == 100_000
    gaps = np.diff(edges)[:-1]
    assert (gaps[edges[:-2] <= 8_000] == 2000).all()
    assert (gaps[edges[:-2] > 8_000] == edges[:-2][edges[:-2] > 8_000] // 4).all()
    assert merge_edges(0, 10, 4) == [0, 4, 8, 10]
    assert merge_edges(10, 10, None) == [10, 10]  # all were learnt together: one round of none


def test_threads_change_no_bit():
    X, Y = nearly_linear(n=600, tags=9)
    settings = {"parallel": "classes", "n_shards": 3, "warm_up": 100, "merge_every": 50}
    one, two = (BOMC.published(**settings).fit(X, Y, executor=InProcess(threads)) for threads in (1, 2))
    assert np.array_equal(one.mean_, two.mean_)
    assert np.array_equal(one.bias_mean_, two.bias_mean_)


def test_what_cannot_be_spread_is_said():
    X, Y = noisy()
    with pytest.raises(ValueError, match="parallel is for the coupled variant"):
        BOMC.published("independent", parallel="classes").fit(X, Y)
    with pytest.raises(ValueError, match="parallel must be None or \"classes\", got 'rows'"):
        BOMC.published(parallel="rows").fit(X, Y)
    with pytest.raises(ValueError, match=r"bias_drift=0\.001 moves the hub with every document"):
        BOMC.published(parallel="classes", bias_drift=0.001).fit(X, Y)
