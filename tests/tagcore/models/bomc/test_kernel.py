"""The kernel of BOMC against quadrature, a naive expectation propagation and the true posterior."""

import numpy as np
import pytest
from scipy.special import ndtr

from tagcore.models.bomc.kernel import couple, stand_alone
from tagcore.models.bomc.truncated import make_table

RULE = (1e-10, 200.0, 0.0, (0.0, 0.0))


def coupled(m, v, s, eps, hub_mean, hub_var, rule=RULE, left_out=-1):
    """(hub mean, hub variance, means of f, variances of f)."""
    factors = tuple(np.array(a, float) for a in (m, v, s, eps))
    g, h = np.zeros(len(m)), np.zeros(len(m))
    room = tuple(np.empty(len(m)) for _ in range(5))
    P, T, _ = couple(factors, 1 / hub_var, hub_mean / hub_var, left_out, rule, make_table(), room, g, h)
    m, v = factors[:2]
    return T / P, 1 / P, m + v * g, v - v * v * h


def moments(x, density):
    density = density / np.trapezoid(density, x)
    mean = np.trapezoid(x * density, x)
    return mean, np.trapezoid((x - mean) ** 2 * density, x)


def grid(mean, var):
    """places for the trapezoid rule, which needs few of them for what is smooth and fades."""
    return np.linspace(mean - 12 * np.sqrt(var), mean + 12 * np.sqrt(var), 4001)


def tilted_hub(m, v, s, eps, mb, vb):
    b = grid(mb, vb)
    return moments(b, np.exp(-0.5 * (b - mb) ** 2 / vb) * ndtr((s * (m - b) - eps) / np.sqrt(v)))


def tilted_f(m, v, s, eps, mb, vb):
    f = grid(m, v)
    return moments(f, np.exp(-0.5 * (f - m) ** 2 / v) * ndtr((s * (f - mb) - eps) / np.sqrt(vb)))


def naive_ep(m, v, s, eps, hub_mean, hub_var, sweeps=60):
    """The textbook's: tilt each cavity by its factor, match moments numerically, divide."""
    pi, tau = np.zeros(len(m)), np.zeros(len(m))
    for _ in range(sweeps):
        P, T = 1 / hub_var + pi.sum(), hub_mean / hub_var + tau.sum()
        new = []
        for c in range(len(m)):
            vb = 1 / (P - pi[c])
            mb = (T - tau[c]) * vb
            mean, var = tilted_hub(m[c], v[c], s[c], eps[c], mb, vb)
            new.append((1 / var - 1 / vb, mean / var - mb / vb))
        pi, tau = np.array(new).T
    P, T = 1 / hub_var + pi.sum(), hub_mean / hub_var + tau.sum()
    marginals = []
    for c in range(len(m)):
        vb = 1 / (P - pi[c])
        marginals.append(tilted_f(m[c], v[c], s[c], eps[c], (T - tau[c]) * vb, vb))
    return T / P, 1 / P, *np.array(marginals).T


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("m", "v", "eps", "hub_mean", "hub_var"), [(0.2, 1.0, 1.0, 0.0, 4.0), (-1.5, 0.3, 2.5, 0.7, 0.5)]
)
def test_one_class_equals_quadrature(sign, m, v, eps, hub_mean, hub_var):
    mean, var, f_mean, f_var = coupled([m], [v], [sign], [eps], hub_mean, hub_var)
    assert (mean, var) == pytest.approx(tilted_hub(m, v, sign, eps, hub_mean, hub_var), abs=1e-6)
    assert (f_mean[0], f_var[0]) == pytest.approx(tilted_f(m, v, sign, eps, hub_mean, hub_var), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_two_classes_reach_the_fixed_point_of_a_naive_ep(seed):
    rng = np.random.default_rng(seed)
    m, v, s = rng.normal(size=2), rng.uniform(0.2, 2, 2), rng.choice([-1.0, 1.0], 2)
    case = m, v, s, rng.uniform(0.5, 3, 2), rng.normal(), rng.uniform(0.3, 5)
    for found, wanted in zip(coupled(*case), naive_ep(*case), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_the_hub_stays_close_to_its_true_posterior(seed):
    rng = np.random.default_rng(100 + seed)
    m, v, s, eps = rng.normal(size=2), rng.uniform(0.2, 2, 2), rng.choice([-1.0, 1.0], 2), rng.uniform(0.5, 3, 2)
    hub_mean, hub_var = rng.normal(), rng.uniform(0.3, 5)
    b = grid(hub_mean, hub_var)
    density = np.exp(-0.5 * (b - hub_mean) ** 2 / hub_var)
    for c in range(2):
        density *= ndtr((s[c] * (m[c] - b) - eps[c]) / np.sqrt(v[c]))
    mean, var = moments(b, density)
    found_mean, found_var, *_ = coupled(m, v, s, eps, hub_mean, hub_var)
    assert abs(found_mean - mean) / np.sqrt(var) < 0.3
    assert abs(found_var / var - 1) < 0.3


def test_one_coupled_class_equals_the_closed_form():
    m, v, s, eps, mb, vb = 0.4, 0.8, -1.0, 1.0, 0.3, 2.0
    bias_mean, bias_var = np.array([mb]), np.array([vb])
    g, h, room = np.zeros(1), np.zeros(1), tuple(np.empty(1) for _ in range(5))
    factors = tuple(np.array([a]) for a in (m, v, s, eps))
    stand_alone(factors, bias_mean, bias_var, (0.0, 0.0), make_table(), room, g, h)
    mean, var, f_mean, f_var = coupled([m], [v], [s], [eps], mb, vb)
    assert (bias_mean[0], bias_var[0]) == pytest.approx((mean, var), rel=1e-12)
    assert (m + v * g[0], v - v * v * h[0]) == pytest.approx((f_mean[0], f_var[0]), rel=1e-12)


def test_damping_reaches_the_same_fixed_point():
    case = [0.1, -0.4, 1.0], [1.0, 0.5, 0.2], [1.0, -1.0, -1.0], [2.0, 1.0, 1.0], 0.0, 1e4
    for found, wanted in zip(coupled(*case), coupled(*case, rule=(1e-12, 400.0, 0.6, (0.0, 0.0))), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_flips_equal_quadrature_for_one_class():
    m, v, s, eps, mb, vb, flip = 0.2, 0.6, 1.0, 1.0, 0.5, 0.9, 0.1
    f = grid(m, v)
    sd = np.sqrt(vb)
    wanted = (1 - flip) * ndtr((s * (f - mb) - eps) / sd) + flip * ndtr((-s * (f - mb) - eps) / sd)
    mean, var = moments(f, np.exp(-0.5 * (f - m) ** 2 / v) * wanted)
    rule = (1e-12, 500.0, 0.0, (0.3, flip))  # the first is of absent tags, and this one is present
    *_, f_mean, f_var = coupled([m], [v], [s], [eps], mb, vb, rule)
    assert (f_mean[0], f_var[0]) == pytest.approx((mean, var), abs=1e-6)


def test_multi_class_hub_equals_quadrature_for_two_classes():
    (m1, m2), (v1, v2), eps = (0.3, 0.5), (0.7, 0.4), 1.0  # class 1 is right: f1 - f2 > eps
    mean, var, f_mean, f_var = coupled([m1, m2], [v1, v2], [-1.0, -1.0], [eps, eps], m1, v1, left_out=0)
    f1 = grid(m1, v1)
    exact = moments(f1, np.exp(-0.5 * (f1 - m1) ** 2 / v1) * ndtr((f1 - m2 - eps) / np.sqrt(v2)))
    assert (mean, var) == pytest.approx(exact, abs=1e-6)
    f2 = grid(m2, v2)
    exact = moments(f2, np.exp(-0.5 * (f2 - m2) ** 2 / v2) * ndtr((m1 - f2 - eps) / np.sqrt(v1)))
    assert (f_mean[1], f_var[1]) == pytest.approx(exact, abs=1e-6)
