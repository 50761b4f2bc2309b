"""Expectation maximisation of BMLPL on shards of rows: `cg_steps + 1` rounds of messages an iteration.

A mask takes one more round, and so does learning r.

Global arrays: V (labels × topics), W (words × topics), r (topics), tau (words), and the statistics of the last
E-step, `counts` (labels × topics) and `curvature` (words × topics). State of a shard: the expected counts m of its
rows and topics, from which U follows once W is known, and the Pólya-Gamma weights omega of the present iteration.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from tagcore.models.bmlpl.hyper import new_shapes, new_tau, shape_step
from tagcore.models.bmlpl.kernels.em import column_dots, expect_counts, sum_logs, weigh_rows
from tagcore.models.bmlpl.rows import ShardRows, logistic, product_step
from tagcore.models.bmlpl.solve import solve_exactly, solve_iteratively
from tagcore.numeric.read_only import freeze
from tagcore.shards import Arrays, Shard, Shards, contiguous
from tagcore.training import Measures

LARGEST_PSI = 60.0  # exp of it is still a float32
_HYPER_EVERY = 5  # tau moves the objective itself: not in every iteration
_STOP_OVER = 5  # iterations over which the objective must have moved


@dataclass(frozen=True)
class EMSettings:
    """Settings of the rounds of EM."""

    eta: float = 0.01
    geo: bool = False
    masked: bool = False
    cg_steps: int = 2  # 0: exact M-step
    learn_tau: bool = False
    learn_r: bool = False
    tol: float = 1e-5


class EM:
    """Learner of batch EM. `start` holds V, W, r and tau; `validate` gives the held-out AUC of global arrays."""

    def __init__(self, settings: EMSettings, start: Arrays, validate: Callable[[Arrays], float] | None = None) -> None:
        self.settings = settings
        self.start = start
        self.validate = validate

    def init(self, shards: Shards) -> Arrays:
        """Gives the start; U of every row begins at its prior mean."""
        arrays = contiguous(self.start)
        return {**arrays, "counts": np.zeros_like(arrays["V"]), "curvature": np.zeros_like(arrays["W"])}

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        """Makes one iteration; its objective is that of the arrays it began with."""
        s = self.settings
        V, W, r, tau = (arrays[name] for name in ("V", "W", "r", "tau"))
        if s.learn_r and number:
            r = new_shapes(shards.sum(shape_step, W=W, r=r), r)
        sums = shards.update(expectation_step, V=V, W=W, r=r, geo=s.geo, masked=s.masked)
        objective = sums["objective"] + s.eta * np.log(V).sum(dtype=np.float64)
        objective -= 0.5 * float(tau @ (W.astype(np.float64) ** 2).sum(axis=1))
        if s.masked:
            V = masked_topics(s.eta + sums["counts"], sums["exposure"]).astype(V.dtype)
            sums |= shards.update(masked_weights_step, V=V, r=r)
        else:
            V = posterior_topics(s.eta, sums["counts"])
        W = W + self._weight_update(shards, sums, W, tau)
        if s.learn_tau and (number + 1) % _HYPER_EVERY == 0:
            tau = new_tau(W, sums["curvature"], tau)
        new = {"V": V, "W": W, "r": r, "tau": tau, "counts": sums["counts"], "curvature": sums["curvature"]}
        measures = {"objective": float(objective)}
        if self.validate:
            measures["auc"] = self.validate(new)
        return new, measures

    def done(self, history: list[Measures]) -> bool:
        """Tells whether the objective has all but stopped."""
        if len(history) <= _STOP_OVER:
            return False
        before, now = (history[at]["objective"] for at in (-1 - _STOP_OVER, -1))
        return abs(now - before) < self.settings.tol * abs(now)

    def _weight_update(self, shards: Shards, sums: Arrays, W: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """The M-step of W: the residual of the start is the gradient, because S W = X'(omega ∘ psi)."""
        precision = tau.astype(W.dtype)[:, None]
        residual = sums["gradient"] - precision * W
        if self.settings.cg_steps == 0:
            return solve_exactly(shards, residual, tau)
        step, _ = solve_iteratively(
            lambda P: shards.sum(product_step, P=P)["product"] + precision * P,
            residual,
            sums["curvature"] + precision,
            self.settings.cg_steps,
        )
        return step


def posterior_topics(eta: float, counts: np.ndarray) -> np.ndarray:
    """V: the posterior mean of every topic's Dirichlet distribution."""
    V = counts + counts.dtype.type(eta)
    return V / V.sum(axis=0, dtype=np.float64).astype(V.dtype)


def masked_topics(numerators: np.ndarray, exposure: np.ndarray) -> np.ndarray:
    """V under a mask: v = a / (nu + exposure), with nu such that every topic sums to one.

    The sum is convex and falls with nu; from a point where it is at least one Newton's method rises to the root.
    """
    a, exposure = numerators.astype(np.float64), exposure.astype(np.float64)
    nu = (a - exposure).max(axis=0)
    for _ in range(100):
        V = a / (nu + exposure)
        rise = (V.sum(axis=0) - 1.0) / (V / (nu + exposure)).sum(axis=0)
        nu = nu + np.maximum(rise, 0.0)
        if (rise <= 1e-14 * np.abs(nu)).all():
            break
    V = a / (nu + exposure)
    return V / V.sum(axis=0)


def expectation_step(
    shard: Shard[ShardRows], state: Arrays, V: np.ndarray, W: np.ndarray, r: np.ndarray, geo: bool, masked: bool = False
) -> tuple[Arrays, Arrays]:
    """Step: U at the present W, the counts and all that the M-step needs of them (pass A)."""
    return expect_rows(shard.data, state.get("m"), V, W, r, geo, masked)


def expect_rows(
    rows: ShardRows,
    m: np.ndarray | None,
    V: np.ndarray,
    W: np.ndarray,
    r: np.ndarray,
    geo: bool,
    masked: bool = False,
    repeats: int = 1,
) -> tuple[Arrays, Arrays]:
    """Gives new counts from the counts m, `repeats` times at the same V and W; without m, U is its prior mean."""
    psi = projected = rows.project(W)
    shapes = r.astype(W.dtype)
    if m is None:
        m = shapes * np.exp(np.minimum(psi, W.dtype.type(LARGEST_PSI)))
    if masked:
        coverage = rows.coverage(V)
        psi = psi + np.log(coverage)
    p, half, e = logistic(psi)
    scale = p / coverage if masked else p
    for _ in range(repeats):
        base = np.maximum(np.exp(digamma(m + shapes)), np.finfo(W.dtype).tiny) if geo else m + shapes
        U = base * scale
        m, counts = np.zeros_like(psi), np.zeros_like(V)
        log_odds = expect_counts(*freeze((rows.labels, rows.starts, U, V)), m, counts)
    sums = {"counts": counts, "objective": log_odds + _prior_of_rows(r, base, psi, e, m if geo else None)}
    if masked:
        return {"m": m, "psi": projected}, {**sums, "exposure": rows.exposure(U)}
    omega, slopes = _slopes(rows, m, shapes, half, psi)
    return {"m": m, "omega": omega}, {**sums, **slopes}


def masked_weights_step(shard: Shard[ShardRows], state: Arrays, V: np.ndarray, r: np.ndarray) -> tuple[Arrays, Arrays]:
    """Step: the weights of the M-step under a mask, which need the new topics, hence a round of their own."""
    psi = state["psi"] + np.log(shard.data.coverage(V))
    omega, sums = _slopes(shard.data, state["m"], r.astype(psi.dtype), logistic(psi)[1], psi)
    return {"m": state["m"], "omega": omega}, sums


def _slopes(
    rows: ShardRows, m: np.ndarray, shapes: np.ndarray, half: np.ndarray, psi: np.ndarray
) -> tuple[np.ndarray, Arrays]:
    """Pólya-Gamma weights omega, X'(kappa - omega ∘ psi), and the diagonal of X' Ω X."""
    omega, slope = np.empty_like(psi), np.empty_like(psi)
    weigh_rows(m, shapes, half, psi, omega, slope)
    return omega, {"gradient": rows.gather(slope), "curvature": rows.gather_squares(omega)}


def _prior_of_rows(r: np.ndarray, base: np.ndarray, psi: np.ndarray, e: np.ndarray, m: np.ndarray | None) -> np.float64:
    """The objective's part of the rows: log density of U and -Σλ (mean), or its expectation (geo, with new counts m).

    With u = base ∘ sigmoid(psi): r log u - r psi = r (log base - log(1 + exp(psi))), and u + u exp(-psi) = base; the
    two logarithms are one, log(base / (1 + e)) - max(psi, 0) with e = exp(-|psi|).
    """
    logs = 1 + e
    np.log(np.divide(base, logs, out=logs), out=logs)
    of_logs, of_base = sum_logs(logs, psi, base)
    every_row = base.shape[0] * gammaln(r).sum()
    if m is None:
        return r @ of_logs - of_base.sum() - every_row
    logs = np.log(base)  # r log(1 + exp(psi)) is what of_logs takes from r log base
    return gammaln(m + r).sum(dtype=np.float64) - every_row + r @ of_logs - column_dots(m + r, logs).sum()
