"""Online EM of BMLPL: one minibatch a round, running averages of what batch EM sums over all rows.

The averages are scaled to all rows known: `counts` (labels × topics) of the topics; of the weights either the whole
second moments `grams` and first `moments` (exact, words² × topics numbers), or only the diagonal `curvature`.
"""

from dataclasses import dataclass

import numpy as np

from tagcore.models.bmlpl.em import EMSettings, expect_rows, posterior_topics
from tagcore.models.bmlpl.rows import ShardRows, batch_state, product_step
from tagcore.models.bmlpl.solve import gram_blocks, solve_iteratively, solve_topics
from tagcore.shards import Arrays, Shard, Shards, contiguous
from tagcore.training import Measures

_PROXIMAL_STEPS = 5
_PROXIMAL_WEIGHT = 3.0  # stands for the curvature off the diagonal, which is not kept


@dataclass(frozen=True)
class OnlineEM:
    """Learner of minibatches. `start` holds V, W, r, tau and, to go on from earlier minibatches, counts and curvature.

    A round takes its share of the minibatch from every shard; `batches` of them make a pass, each in a new order.
    """

    settings: EMSettings  # cg_steps = 0: second moments are kept whole
    start: Arrays
    n_rows: int  # known in all, to which averages are scaled
    batches: int = 1
    updates: int = 0  # minibatches before these
    kappa: float = 0.6
    t0: float = 10.0
    inner: int = 3
    seed: int = 0

    def init(self, shards: Shards) -> Arrays:
        arrays = contiguous(self.start)
        V, W = arrays["V"], arrays["W"]
        arrays = {"counts": np.zeros_like(V), "curvature": np.zeros_like(W), **arrays}
        if self.settings.cg_steps == 0:
            n_words, n_topics = W.shape
            arrays |= {"grams": np.zeros((n_words, n_words, n_topics)), "moments": np.zeros(W.shape)}
        return arrays

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        s, t = self.settings, self.updates + number
        gamma = (t + self.t0) ** -self.kappa if t else 1.0
        V, W, r, tau = (arrays[name] for name in ("V", "W", "r", "tau"))
        epoch, batch = divmod(number, self.batches)
        sums = shards.update(
            batch_step, V=V, W=W, r=r, geo=s.geo, inner=self.inner, cut=(self.seed, epoch, batch, self.batches)
        )
        share = gamma * self.n_rows / float(sums["rows"])
        kept = {
            name: W.dtype.type(1 - gamma) * arrays[name] + W.dtype.type(share) * sums[name]
            for name in ("counts", "curvature")
        }
        if s.cg_steps == 0:
            kept |= self._whole_moments(shards, arrays, sums, gamma, share)
            new_W = solve_topics(shards, kept["grams"], kept["moments"], tau).astype(W.dtype)
        else:
            new_W = W + self._proximal_step(shards, arrays, sums, gamma, share)
        new = {"V": posterior_topics(s.eta, kept["counts"]), "W": new_W, "r": r, "tau": tau, **kept}
        return new, {"objective": float(sums["objective"] / sums["rows"])}

    def done(self, history: list[Measures]) -> bool:
        return False

    def _whole_moments(self, shards: Shards, arrays: Arrays, sums: Arrays, gamma: float, share: float) -> Arrays:
        grams = (1 - gamma) * arrays["grams"]
        for topics, batch_grams in gram_blocks(shards, *arrays["W"].shape):
            grams[:, :, topics] += share * batch_grams
        return {"grams": grams, "moments": (1 - gamma) * arrays["moments"] + share * sums["moments"]}

    def _proximal_step(self, shards: Shards, arrays: Arrays, sums: Arrays, gamma: float, share: float) -> np.ndarray:
        """Gives what to add to W: by the minibatch's own curvature, and past curvature by its diagonal."""
        dtype = arrays["W"].dtype
        tau = arrays["tau"].astype(dtype)[:, None]
        past = dtype.type((1 - gamma) * _PROXIMAL_WEIGHT) * arrays["curvature"] + tau
        share, gamma = dtype.type(share), dtype.type(gamma)
        step, _ = solve_iteratively(
            lambda P: past * P + share * shards.sum(product_step, P=P)["product"],
            share * sums["gradient"] - gamma * tau * arrays["W"],
            past + share * sums["curvature"],
            _PROXIMAL_STEPS,
        )
        return step


def batch_step(
    shard: Shard[ShardRows],
    state: Arrays,
    V: np.ndarray,
    W: np.ndarray,
    r: np.ndarray,
    geo: bool,
    inner: int,
    cut: tuple[int, int, int, int],
) -> tuple[Arrays, Arrays]:
    """Step: the local rounds on this shard's part of the minibatch `cut` = (seed, pass, number, of how many)."""
    seed, epoch, batch, batches = cut
    rows = shard.data
    if batches > 1:
        order = np.random.default_rng((seed, epoch, shard.number)).permutation(len(rows))
        edges = np.linspace(0, len(rows), batches + 1).astype(int)
        rows = rows.take(np.sort(order[edges[batch] : edges[batch + 1]]))
    expected, sums = expect_rows(rows, None, V, W, r, geo, repeats=inner)
    kappa = (expected["m"] - r.astype(W.dtype)) * W.dtype.type(0.5)
    sums |= {"rows": np.array(float(len(rows))), "moments": rows.gather(kappa)}
    return {"omega": expected["omega"], **batch_state(rows)}, sums
