"""The rings are where they are said to be, and the seed alone decides."""

import numpy as np
import pytest

from tagcore.synthetic.rings import rings


def test_classes_are_within_their_rings():
    X, y = rings(3000, seed=1)
    squares = (X[:, :2] ** 2).sum(axis=1)
    assert set(y) == {0, 1, 2}
    assert 0.1 < squares[y == 0].min() < squares[y == 0].max() < 0.5
    assert 0.6 < squares[y == 1].min() < squares[y == 1].max() < 1.0
    assert X[y == 2, :2].std() == pytest.approx(0.1, rel=0.05)
    assert X[:, 2:].std() == pytest.approx(1.0, rel=0.02)
    assert np.mean(squares[y == 1] < 0.8) == pytest.approx(0.5, abs=0.05)  # uniform in area


def test_the_seed_decides():
    assert np.array_equal(rings(50, seed=3)[0], rings(50, seed=3)[0])
    assert not np.array_equal(rings(50, seed=3)[0], rings(50, seed=4)[0])
    with pytest.raises(ValueError, match="n = 0, expected a whole number from 1"):
        rings(0, seed=0)
