"""The preconditioner of latents against matrices written out, class by class."""

import numpy as np

from tagcore.models.sgps.class_curvature import alike, class_wise_preconditioner

RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(7, 5))
GRAM = ROOT.T @ ROOT


def test_classes_that_curve_alike_share_a_group():
    groups = alike(np.array([100.0, 30.0, 1.0, 99.0, 0.9, 1e-30, 0.0]))
    assert [group.tolist() for group in groups] == [[0, 1, 3], [2, 4], [5, 6]]
    assert [group.tolist() for group in alike(np.zeros(3))] == [[0, 1, 2]]


def test_every_class_is_solved_with_its_own_curvature():
    totals, residual = np.array([1.0, 64.0, 4096.0]), RNG.normal(size=(5, 3))
    residual -= residual.mean(axis=1, keepdims=True)
    solved = np.stack(
        [
            np.linalg.solve(np.eye(5) + 4.0 * total / totals.mean() * GRAM, column)
            for total, column in zip(totals, residual.T, strict=True)
        ],
        axis=1,
    )
    wanted = solved - solved.mean(axis=1, keepdims=True)
    found = class_wise_preconditioner(GRAM, totals, np.full(3, 2.0))(residual)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_only_the_prior_curves_what_changes_no_probability():
    """latents are features times amplitudes: a latent of all classes is 1 / amplitude of each."""
    amplitudes = np.array([1.0, 2.0, 5.0])
    of_all = np.outer(RNG.normal(size=5), 1.0 / amplitudes)
    precondition = class_wise_preconditioner(GRAM, np.array([3.0, 1.0, 2.0]), amplitudes)
    np.testing.assert_allclose(precondition(of_all), of_all, atol=1e-12)
    residual = RNG.normal(size=(5, 3))
    np.testing.assert_allclose(precondition(residual) @ (1.0 / amplitudes), residual @ (1.0 / amplitudes), atol=1e-12)


def test_without_any_curvature_it_is_the_prior():
    residual = RNG.normal(size=(5, 3))
    found = class_wise_preconditioner(GRAM, np.zeros(3), np.ones(3))(residual)
    np.testing.assert_allclose(found, residual, atol=1e-12)
