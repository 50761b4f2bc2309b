"""Gibbs sampling of BMLPL on shards of rows: counts, V, r, omega, W, tau and U in turn, from their conditionals.

Every draw is keyed by (seed, round, what is drawn, global row, word or label): the shards have no say in it.
Global arrays: V, W, r and tau as the last sweep left them, and the kept draws of the first three, draws_V, draws_W
and draws_r (float32), along a first axis. State of a shard: U and psi = X W.
"""

from dataclasses import dataclass

import numpy as np

from tagcore.kernels.random.streams import branch
from tagcore.models.bmlpl.kernels.gibbs import (
    count_tables,
    draw_counts,
    draw_embeddings,
    draw_log_gammas,
    draw_normals,
    draw_weights,
)
from tagcore.models.bmlpl.rows import ShardRows, logistic, product_step
from tagcore.models.bmlpl.solve import solve_exactly, solve_iteratively
from tagcore.numeric.read_only import freeze
from tagcore.shards import Arrays, Shard, Shards
from tagcore.training import Measures

START, COUNTS, TOPICS, TABLES, SHAPES, OMEGA, ROW_NOISE, WORD_NOISE, PRECISIONS, EMBEDDINGS = range(1, 11)
KEPT = ("V", "W", "r")


@dataclass(frozen=True)
class GibbsSettings:
    """Settings of the sweeps of Gibbs sampling. After burn_in sweeps every thin-th is kept, until there are `keep`.

    W is drawn exactly for up to exact_words words, beyond by conjugate gradients until the error is about cg_tol of
    a posterior standard deviation: the noise of w_k has an expected energy w' S w of one a word.
    """

    eta: float = 0.01
    learn_r: bool = False
    learn_tau: bool = False
    r_prior: tuple[float, float] = (0.01, 0.01)  # shape and rate, e0 and f0
    tau_prior: tuple[float, float] = (0.01, 0.01)  # a0 and b0
    burn_in: int = 50
    thin: int = 5
    keep: int = 10
    exact_words: int = 64
    cg_tol: float = 0.03
    cg_steps: int = 100  # at most

    @property
    def rounds(self) -> int:
        return self.burn_in + self.thin * self.keep


class GibbsLearner:
    """Learner that samples. `start` holds V, W, r and tau, such as a random start or the result of EM."""

    def __init__(self, settings: GibbsSettings, start: Arrays, seed: int) -> None:
        self.settings = settings
        self.start = start
        self.seed = seed

    def init(self, shards: Shards) -> Arrays:
        """Gives the start; U of every row is drawn as if it had no label."""
        arrays = {name: self.start[name] for name in (*KEPT, "tau")}
        shards.update(embedding_step, W=arrays["W"], r=arrays["r"], key=self._key(0, START))
        return arrays | {f"draws_{name}": np.empty((0, *arrays[name].shape), np.float32) for name in KEPT}

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        """Makes one sweep; its log-likelihood is that of the embeddings and topics it began with."""
        s = self.settings
        V, W, r, tau = (arrays[name] for name in (*KEPT, "tau"))
        keys = {"key": self._key(number, COUNTS), "table_key": self._key(number, TABLES)}
        sums = shards.update(count_step, V=V, r=r, learn_r=s.learn_r, **keys)
        V = draw_topic_distributions(s.eta + sums["counts"], self._key(number, TOPICS), V.dtype)
        if s.learn_r:  # with U integrated out, so before W and U
            r = _draw_gammas(s.r_prior[0] + sums["tables"], s.r_prior[1] + sums["softplus"], self._key(number, SHAPES))
        W, steps = self._draw_weights(shards, W, r, tau, number)
        if s.learn_tau:
            squares = np.square(W, dtype=np.float64).sum(axis=1)
            shape = np.full(tau.shape, s.tau_prior[0] + W.shape[1] / 2)
            tau = _draw_gammas(shape, s.tau_prior[1] + squares / 2, self._key(number, PRECISIONS))
        shards.update(embedding_step, W=W, r=r, key=self._key(number, EMBEDDINGS))
        new = {"V": V, "W": W, "r": r, "tau": tau}
        measures = {"log_likelihood": float(sums["log_likelihood"]), "cg_steps": float(steps)}
        return new | self._kept_draws(arrays, new, number), measures

    def done(self, history: list[Measures]) -> bool:
        """Tells whether all draws that were asked for are kept."""
        return len(history) >= self.settings.rounds

    def _draw_weights(
        self, shards: Shards, W: np.ndarray, r: np.ndarray, tau: np.ndarray, number: int
    ) -> tuple[np.ndarray, int]:
        """Draws W and tells how many steps that took; w_k solves a system with the noise e1, e2 on its right.

        S_k w_k = X' (kappa_k + sqrt(omega_k) e1) + sqrt(tau) e2 with S_k = X' Omega_k X + diag(tau). The covariance
        of the right-hand side is S_k, hence that of w_k its inverse, as the conditional wants.
        """
        keys = {"key": self._key(number, OMEGA), "noise_key": self._key(number, ROW_NOISE)}
        sums = shards.update(omega_step, r=r, **keys)
        noise = np.sqrt(tau)[:, None] * draw_normals(W.shape[0], W.shape[1], self._key(number, WORD_NOISE))
        precision = tau.astype(W.dtype)[:, None]
        residual = sums["gradient"] + noise.astype(W.dtype) - precision * W
        if len(tau) <= self.settings.exact_words:
            return W + solve_exactly(shards, residual, tau), 0
        step, steps = solve_iteratively(
            lambda P: shards.sum(product_step, P=P)["product"] + precision * P,
            residual,
            sums["curvature"] + precision,
            self.settings.cg_steps,
            self.settings.cg_tol**2 * len(tau),
        )
        return W + step, steps

    def _kept_draws(self, before: Arrays, new: Arrays, number: int) -> Arrays:
        s = self.settings
        kept = {name: before[f"draws_{name}"] for name in KEPT}
        sweeps = number + 1 - s.burn_in
        if sweeps > 0 and sweeps % s.thin == 0 and len(kept["r"]) < s.keep:
            kept = {name: np.concatenate([draws, new[name][None].astype(np.float32)]) for name, draws in kept.items()}
        return {f"draws_{name}": draws for name, draws in kept.items()}

    def _key(self, number: int, purpose: int) -> np.uint64:
        return np.uint64(branch(np.uint64(branch(np.uint64(self.seed), number)), purpose))


def draw_topic_distributions(shapes: np.ndarray, key: np.uint64, dtype: np.dtype) -> np.ndarray:
    """Draws columns from Dirichlet(shapes), by logarithms of gammas: many of a shape far below 1 would vanish."""
    logs = draw_log_gammas(shapes, key)
    V = np.exp(logs - logs.max(axis=0))
    return np.maximum(V / V.sum(axis=0), _smallest(dtype)).astype(dtype)


def count_step(
    shard: Shard[ShardRows],
    state: Arrays,
    V: np.ndarray,
    r: np.ndarray,
    learn_r: bool,
    key: np.uint64,
    table_key: np.uint64,
) -> tuple[Arrays, Arrays]:
    """Step: latent counts of the positives, and the sums that the draw of r needs."""
    rows, U, psi = shard.data, state["U"], state["psi"]
    m, counts = np.zeros_like(U), np.zeros(V.shape)
    log_odds = draw_counts(*freeze((rows.labels, rows.starts, U, V)), key, shard.first, m, counts)
    sums = {"counts": counts, "log_likelihood": np.asarray(log_odds - U.sum(dtype=np.float64))}
    if learn_r:
        sums["tables"] = count_tables(m, r, table_key, shard.first)
        sums["softplus"] = np.logaddexp(0, psi).sum(axis=0, dtype=np.float64)
    return {"m": m, "psi": psi}, sums


def omega_step(
    shard: Shard[ShardRows], state: Arrays, r: np.ndarray, key: np.uint64, noise_key: np.uint64
) -> tuple[Arrays, Arrays]:
    """Step: Pólya-Gamma weights; X' (kappa + sqrt(omega) e1 - omega psi), where S W = X' (omega psi), and diag S."""
    rows, m, psi = shard.data, state["m"], state["psi"]
    omega, slope = np.empty_like(psi), np.empty_like(psi)
    draw_weights(m, psi, r, key, noise_key, shard.first, omega, slope)
    return {"m": m, "omega": omega}, {"gradient": rows.gather(slope), "curvature": rows.gather_squares(omega)}


def embedding_step(
    shard: Shard[ShardRows], state: Arrays, W: np.ndarray, r: np.ndarray, key: np.uint64
) -> tuple[Arrays, Arrays]:
    """Step: psi and U, given the counts; in the first round, where there are none, given counts of 0."""
    psi = shard.data.project(W)
    m, U = state.get("m", np.zeros_like(psi)), np.empty_like(psi)
    draw_embeddings(m, logistic(psi)[0], r, key, shard.first, _smallest(U.dtype), U)
    return {"U": U, "psi": psi}, {}


def _draw_gammas(shape: np.ndarray, rate: np.ndarray, key: np.uint64) -> np.ndarray:
    return np.exp(draw_log_gammas(shape[:, None], key)[:, 0]) / rate


def _smallest(dtype: np.dtype) -> float:
    """The floor of U and V: with zeros no topic could explain a label."""
    return max(float(np.finfo(dtype).tiny), 1e-300)
