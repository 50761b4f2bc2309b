"""Orders of rows over several passes."""

import numpy as np

from tagcore.numeric.row_orders import pass_orders


def test_every_pass_draws_an_order_of_its_own_from_one_seed():
    orders = pass_orders(50, 3, True, 7)
    assert orders.shape == (3, 50)
    assert all(np.array_equal(np.sort(order), np.arange(50)) for order in orders)
    assert len({order.tobytes() for order in orders}) == 3
    rng = np.random.RandomState(7)
    assert np.array_equal(orders[1], [rng.permutation(50) for _ in range(2)][1])
    assert not np.array_equal(orders, pass_orders(50, 3, True, 8))


def test_without_shuffling_every_pass_goes_through_the_rows_as_they_are():
    assert np.array_equal(pass_orders(4, 2, False, 7), [[0, 1, 2, 3]] * 2)
