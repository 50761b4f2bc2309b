"""Popular tags: the shares, by hand."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.baselines import Popular

X = np.ones((4, 1))
Y = sp.csr_matrix([[1, 0, 5], [1, 0, 0], [1, 1, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    ("weight", "shares", "order"),
    [("documents", [0.75, 0.5, 0.25], [0, 1, 2]), ("counts", [0.3, 0.2, 0.5], [2, 0, 1])],
)
def test_shares_and_their_order(weight, shares, order):
    model = Popular(weight=weight).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X[:2]), [shares] * 2)
    tags, scores = model.top_k(X[:2], 3)
    assert tags.tolist() == [order] * 2
    assert (np.diff(scores) < 0).all()


def test_many_tags_and_rows_need_no_dense_block():
    n, tags = 200_000, 50_000  # 80 GB if it were dense
    used = sp.csr_matrix((np.ones(2), ([0, 1], [7, 7])), shape=(2, tags))
    best, _ = Popular().fit(np.ones((2, 1)), used).top_k(np.ones((n, 1)), 2)
    assert best.shape == (n, 2)
    assert (best == [7, 0]).all()


def test_an_unknown_weight_is_named():
    with pytest.raises(ValueError, match='weight must be "documents" or "counts", got \'users\''):
        Popular(weight="users").fit(X, Y)
