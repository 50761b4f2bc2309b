"""The evidence: its slopes are differences, its limits known, its search finds more than its start."""

import numpy as np
import pytest

from tagcore.models.sgps.evidence import evidence_slopes
from tagcore.models.sgps.rows import LabelledMatrix, Layout
from tagcore.models.sgps.search import Problem, Theta, climb, first_scale, sweep
from tests.tagcore.models.sgps.problems import JITTER, evidence_of, three_classes

X, Y = three_classes(40)
Z = X[:6] + 0.05
AMPLITUDES = np.array([1.5, 2.0, 1.1])
SCALES = {"shared": np.asarray(1.3), "ard": np.array([1.0, 2.0, 0.7])}


@pytest.mark.parametrize("covariance", ["se", "nn"])
@pytest.mark.parametrize("kind", ["block", "exact"])
@pytest.mark.parametrize("scales", SCALES)
def test_slopes_are_differences(covariance, kind, scales):
    scale, step = SCALES[scales], 1e-4
    settings = {"covariance": covariance, "n_shards": 2, "mode": "store" if scales == "ard" else "stream"}

    def value(scale, amplitudes):
        return evidence_of(X, Y, Z, amplitudes, kind, scale=scale, **settings)[1].value

    features, evidence = evidence_of(X, Y, Z, AMPLITUDES, kind, scale=scale, **settings)
    slopes = evidence_slopes(features, AMPLITUDES, evidence)
    for d in range(scale.size):
        up, down = (scale * np.exp(sign * step * (np.arange(scale.size) == d)).reshape(scale.shape) for sign in (1, -1))
        difference = (value(up, AMPLITUDES) - value(down, AMPLITUDES)) / (2 * step)
        assert slopes.length_scale[d] == pytest.approx(difference, rel=1e-5, abs=1e-6)
    for c in range(3):
        up, down = (AMPLITUDES * np.exp(sign * step * (np.arange(3) == c)) for sign in (1, -1))
        difference = (value(scale, up) - value(scale, down)) / (2 * step)
        assert slopes.amplitudes[c] == pytest.approx(difference, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", ["block", "exact"])
def test_without_amplitude_nothing_is_explained(kind):
    _, evidence = evidence_of(X, Y, Z, np.full(3, 1e-5), kind)
    assert evidence.value == pytest.approx(-40 * np.log(3), abs=1e-6)


@pytest.mark.parametrize("kind", ["block", "exact"])
def test_streams_and_shards_have_the_same_evidence(kind):
    _, wanted = evidence_of(X, Y, Z, AMPLITUDES, kind)
    _, found = evidence_of(X, Y, Z, AMPLITUDES, kind, n_shards=7, mode="stream")
    assert found.value == pytest.approx(wanted.value, abs=1e-8)
    np.testing.assert_allclose(found.curvature.factors, wanted.curvature.factors, atol=1e-8)


def test_an_exact_curvature_of_too_many_latents_is_refused():
    rows = np.random.default_rng(0).normal(size=(1400, 3))
    with pytest.raises(ValueError, match='up to 4000 latents, got 3 classes × 1400 prototypes: take evidence="block"'):
        evidence_of(X, Y, rows, AMPLITUDES, "exact", tol=1e-3)


def problem(prototypes=Z):
    return Problem(LabelledMatrix(X, Y), prototypes, Layout(1), "se", "block", JITTER, 3)


def test_climbing_finds_at_least_what_the_grid_finds():
    axis = np.linspace(-1.0, 3.0, 5)
    grid = sweep(problem(), axis, axis)
    assert grid.table.shape == (25, 3)
    assert grid.evidence == grid.table[:, 2].max()
    climbed = climb(problem(), Theta(np.asarray(first_scale(Z)), np.full(3, 3.0)), False, 15)
    assert climbed.evidence >= grid.evidence - 1e-6
    assert not climbed.degenerate
    _, again = evidence_of(X, Y, Z, climbed.theta.amplitudes, "block", scale=climbed.theta.length_scale)
    assert climbed.evidence == pytest.approx(again.value, abs=1e-4)
    own = climb(problem(), climbed.theta, True, 15)
    assert own.evidence >= climbed.evidence - 1e-6
    assert len(set(own.theta.amplitudes)) == 3


def test_a_start_that_explains_nothing_begins_again_at_longer_scales():
    """at a length scale of a tenth no row is near a prototype: the slope is all but zero there."""
    start = Theta(np.asarray(0.05), np.full(3, 3.0))
    found = climb(problem(), start, False, 15)
    assert not found.degenerate
    assert found.theta.length_scale > 0.2


def test_labels_without_a_pattern_are_said_to_be_so():
    labels = np.random.default_rng(1).integers(0, 3, 40)
    hopeless = Problem(LabelledMatrix(X, labels), Z, Layout(1), "se", "block", JITTER, 3)
    assert climb(hopeless, Theta(np.asarray(1.0), np.full(3, 3.0)), False, 10).degenerate
