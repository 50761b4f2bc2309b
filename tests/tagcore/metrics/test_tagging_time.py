"""Times of single documents: quantiles and the documents that they lie between."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import quantile_test

from tagcore.baselines import Popular
from tagcore.features.rows import InMemory
from tagcore.metrics.tagging_time import TaggingTimes, time_single_documents


def test_a_quantile_lies_between_the_documents_that_scipy_names():
    taken = np.random.default_rng(0).gamma(2.0, 10.0, 400)
    median, slowest = TaggingTimes(taken).median(), TaggingTimes(taken).slowest()
    assert (median.value, slowest.value) == (np.median(taken), np.quantile(taken, 0.99))
    theirs = quantile_test(taken, p=0.5).confidence_interval(0.95)
    assert (median.low, median.high) == pytest.approx(theirs, rel=0.03)
    assert slowest.low < slowest.value <= slowest.high <= taken.max()


def test_only_as_many_documents_are_asked_for_as_there_are():
    asked = []

    class Counting(Popular):
        def top_k(self, X, k=5):
            asked.append((X.shape, k))
            return super().top_k(X, k)

    X, Y = sp.csr_matrix(np.eye(4)), sp.csr_matrix(np.eye(4))
    times = time_single_documents(Counting().fit(X, Y), InMemory(X, Y), 2, 3)
    assert times.microseconds.shape == (3,)
    assert set(asked) == {((1, 4), 2)}
    assert time_single_documents(Counting().fit(X, Y), InMemory(X, Y), 2, 30).microseconds.shape == (4,)
