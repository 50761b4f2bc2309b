"""Columns of CSR rows against scipy's own slices and stacks."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tagcore.numeric.columns import join_columns, take_columns
from tests.problems import problems


def same(one: sp.csr_matrix, other: sp.csr_matrix) -> bool:
    return (
        one.shape == other.shape
        and one.data.dtype == other.data.dtype
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("data", "indices", "indptr"))
    )


@given(problems(), st.data())
def test_columns_are_those_of_a_slice(problem, data):
    X, _ = problem
    start = data.draw(st.integers(0, X.shape[1] - 1))
    stop = data.draw(st.integers(start + 1, X.shape[1]))
    for rows in (X, X[:1]):
        taken = take_columns(rows, start, stop)
        assert same(taken, sp.csr_matrix(rows[:, start:stop]))
        assert taken.has_canonical_format


@given(problems())
def test_joined_columns_are_those_of_a_stack(problem):
    X, Y = problem
    for blocks in ([X, Y, X], [X.astype(np.float32), Y.astype(np.float32)]):
        joined = join_columns(blocks)
        assert same(joined, sp.hstack(blocks, format="csr"))
        assert joined.has_canonical_format
        first = join_columns([block[:1] for block in blocks])
        assert same(first, sp.hstack([block[:1] for block in blocks], format="csr"))
        assert first.has_canonical_format


def test_one_block_and_all_columns_are_not_copied():
    X = sp.csr_matrix(np.eye(3))
    assert join_columns([X]) is X
    assert take_columns(X, 0, 3) is X
