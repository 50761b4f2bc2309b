"""Warnings of BOMC: flips on present tags, rows that are learnt twice."""

import warnings

import pytest
import scipy.sparse as sp

from tagcore.models import BOMC
from tests.problems import noisy

STREAM = {"shuffle": False, "skew": "running"}


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("flip", [0.01, [0.0, 0.01]])
def test_flips_on_present_tags_are_warned_of(flip):
    X, Y = noisy()
    for learn in (BOMC.published(flip=flip, **STREAM).fit, BOMC.published(flip=flip, **STREAM).partial_fit):
        with pytest.warns(UserWarning, match=r"most occurrences of a rare tag are then taken for one .* flip=\[0.0"):
            learn(X, Y)


def test_flips_on_absent_tags_are_not(quiet):
    BOMC.published(flip=[0.01, 0.0], **STREAM).fit(*noisy())


def old_and_new():
    """rows of which only the later have the last words and tags."""
    X, Y = (part.toarray() for part in noisy(n=90, words=12, tags=6))
    X[:50, 9:], Y[:50, 4:] = 0.0, 0.0
    X, Y = sp.csr_matrix(X), sp.csr_matrix(Y)
    return X, Y, (X[:50, :9], Y[:50, :4]), (X[50:], Y[50:])


@pytest.mark.parametrize("settings", [{}, {"variant": "independent"}, {"parents": [1, -1, 1, 0]}])
def test_rows_learnt_before_are_recognised(settings):
    X, Y, old, new = old_and_new()
    model = BOMC.published(warm_start=True, **settings).fit(*old)
    known = model.variance_.copy()
    with pytest.warns(UserWarning, match="the first 50 rows have the tags of the 50 rows that this model has learnt"):
        model.fit(*old)
    assert model.variance_.mean() < known.mean()
    if "parents" not in settings:
        with pytest.warns(UserWarning, match="the first 50 rows"):
            BOMC.published(warm_start=True, **settings).fit(*old).fit(X, Y)
        with pytest.warns(UserWarning, match="the first 90 rows"):
            BOMC.published(warm_start=True, **settings).fit(*old).fit(*new).fit(X, Y)


def test_new_rows_are_learnt_without_a_word(quiet):
    X, Y, old, new = old_and_new()
    BOMC.published(warm_start=True).fit(*old).fit(*new)
    BOMC.published().fit(X, Y).fit(X, Y)  # starts over
    BOMC.published(warm_start=True).fit(X[:3], Y[:3]).fit(X[:3], Y[:3])  # three rows may be alike by chance
