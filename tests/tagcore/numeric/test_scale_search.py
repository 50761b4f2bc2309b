"""The search of scales: its first step is short, and it ends at the lowest point within the bounds."""

import numpy as np
import pytest

from tagcore.numeric.scale_search import descend_logs

BOUNDS = [(-3.0, 5.0), (-2.0, 5.0)]


def bowl(lowest, steepness=1000.0, tried=None):
    """a bowl of any steepness; points tried are noted."""
    lowest = np.array(lowest)

    def function(logs):
        if tried is not None:
            tried.append(logs.copy())
        return steepness * float(np.sum((logs - lowest) ** 2)), 2.0 * steepness * (logs - lowest)

    return function


@pytest.mark.parametrize("steepness", [1e-3, 1.0, 1e6])
def test_the_first_step_has_length_one_however_steep_the_slope(steepness):
    tried = []
    descend_logs(bowl([4.0, 4.0], steepness, tried), 1, np.zeros(2), BOUNDS, 10)
    assert np.array_equal(tried[0], np.zeros(2))
    assert np.linalg.norm(tried[1] - tried[0]) == pytest.approx(1.0)


@pytest.mark.parametrize("lowest", [[1.0, 2.0], [9.0, 2.0], [-9.0, -9.0]])
def test_it_ends_at_the_lowest_point_within_the_bounds(lowest):
    found = descend_logs(bowl(lowest), 1, np.array([0.3, 0.1]), BOUNDS, 30)
    lower, upper = np.transpose(BOUNDS)
    wanted = np.clip(lowest, lower, upper)
    np.testing.assert_allclose(found.x, wanted, atol=0.02)
    assert found.fun == pytest.approx(bowl(lowest)(found.x)[0])


def test_a_start_outside_of_the_bounds_begins_at_them_and_level_ground_ends_it():
    tried = []
    found = descend_logs(bowl([-3.0, 5.0], tried=tried), 1, np.array([-50.0, 50.0]), BOUNDS, 30)
    assert np.array_equal(found.x, [-3.0, 5.0])
    assert len(tried) <= 2


def test_several_length_scales_are_first_sought_at_the_amplitude_of_the_start():
    tried = []
    bounds = [(-3.0, 5.0), *BOUNDS]
    found = descend_logs(bowl([1.0, 2.0, 4.0], tried=tried), 2, np.array([0.0, 0.0, 0.5]), bounds, 20)
    np.testing.assert_allclose(found.x, [1.0, 2.0, 4.0], atol=0.02)
    moved = [logs[2] != 0.5 for logs in tried]
    first_leg = moved.index(True)
    assert all(moved[first_leg:-1])
    np.testing.assert_allclose(tried[first_leg - 1][:2], [1.0, 2.0], atol=0.02)
