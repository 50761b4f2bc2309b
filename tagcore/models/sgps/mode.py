"""The mode of the posterior: Newton's method with conjugate gradients, on shards of rows.

U (M × C) are whitened latents of the prototypes, F = (Φ U) ∘ a latents of the rows, a the amplitude of every class.
Ψ(U) = Σ_n log softmax(F_n)[y_n] - ½‖U‖² is strictly concave, so that the mode is one, whatever the start. State of a
shard: F, the probabilities rounded to float32 (curvature, for conjugate gradients), and D = Φ Δ of the line search.
The distance to the mode is told in standard deviations of the posterior: √(∇Ψᵀ H⁻¹ ∇Ψ / C M), the root mean square over
latents, which has a meaning whatever the numbers of rows, classes and prototypes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tagcore.models.sgps.features import FeatureRows, FeatureShards
from tagcore.models.sgps.softmax import curve, log_likelihoods, probabilities, residuals
from tagcore.numeric.conjugate_gradients import Product, conjugate_gradients, inner_products, residuals_fall_to
from tagcore.progress import Progress
from tagcore.shards import Arrays, Shard, Shards
from tagcore.training import Checkpoints, Measures, Trained, train

_CG_STEPS = 200
_LOOSEST = 0.3  # residual of conjugate gradients, relative, with which a Newton step is content
FLOAT32_REACHES = 1e-4  # residuals of conjugate gradients, relative, that products in float32 can tell from zero
_GRAM_ROWS = 20  # for every prototype, of which the preconditioner is made: more would not make it better
_SHORTER = 0.5 ** np.arange(1, 5)  # lengths that one more pass of the line search tries
_SHORTEST = 1e-8
_ASCENT = 1e-4


@dataclass(frozen=True, eq=False)
class ModeSearch:
    """Learner of the mode, from U = `start`; a round is one Newton step. It ends with a step from nearer than `tol`."""

    features: FeatureShards
    amplitudes: np.ndarray
    start: np.ndarray
    tol: float = 1e-3

    def init(self, shards: Shards) -> Arrays:
        """Gives the start, with the latents of all rows beside their shards."""
        shards.update(start_step, V=self.features.inwards(self.start), amplitudes=self.amplitudes)
        return {"U": self.start}

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        """Makes one Newton step; the distance is that before it, the objective that after it."""
        U, a = arrays["U"], self.amplitudes
        sums = shards.update(gradient_step, amplitudes=a)
        objective = float(sums["objective"]) - 0.5 * float(np.vdot(U, U))
        G = self.features.outwards(sums["gradient"]) - U
        direction, cg_steps = self._direction(shards, G)
        ascent = float(np.vdot(G, direction))
        step, objective = self._line_search(shards, U, direction, objective, ascent)
        shards.update(move_step, length=step)
        measures = {"objective": objective, "distance": float(np.sqrt(max(ascent, 0.0) / U.size))}
        return {"U": U + step * direction}, measures | {"cg_steps": float(cg_steps), "step": step}

    def done(self, history: list[Measures]) -> bool:
        """Tells whether the last step, a whole one, began near the mode, or no step along the gradient went up."""
        last = history[-1]
        return (last["distance"] < self.tol and last["step"] == 1.0) or last["step"] < _SHORTEST

    def _direction(self, shards: Shards, G: np.ndarray) -> tuple[np.ndarray, int]:
        enough = min(_LOOSEST, np.sqrt(np.abs(G).max() / np.sqrt(self.features.n_rows)))
        every = max(1, self.features.n_rows // (_GRAM_ROWS * self.features.basis.size))
        gram = self.features.outwards_twice(np.asarray(shards.sum(shared_gram_step, every=every)["gram"], np.float64))
        factor = cho_factor(gram * np.mean(self.amplitudes**2) + np.eye(len(gram)), lower=True, check_finite=False)
        inverse = cho_solve(factor, np.eye(len(gram)), check_finite=False)  # many small solves take longer
        product = hessian_product(self.features, self.amplitudes, rounded=enough > FLOAT32_REACHES)

        def solve(residual: np.ndarray) -> np.ndarray:
            return inverse @ residual

        return conjugate_gradients(product, G, solve, _CG_STEPS, inner_products(None), residuals_fall_to(enough))

    def _line_search(
        self, shards: Shards, U: np.ndarray, direction: np.ndarray, objective: float, ascent: float
    ) -> tuple[float, float]:
        """The longest of ever halved steps that goes up by enough, 0 where even the shortest does not, and the
        objective after it."""
        inner = self.features.inwards(direction)
        whole = shards.update(direction_step, V=inner, amplitudes=self.amplitudes)["objective"]
        steps, values = np.ones(1), np.atleast_1d(whole)
        while steps[-1] >= _SHORTEST:
            values = values - [0.5 * float(np.sum((U + t * direction) ** 2)) for t in steps]
            enough = values >= objective + _ASCENT * steps * ascent
            if enough.any():
                first = np.argmax(enough)
                return float(steps[first]), float(values[first])
            steps = steps[-1] * _SHORTER
            values = shards.sum(try_step, steps=steps)["objectives"]
        return 0.0, objective


def find_mode(
    features: FeatureShards,
    amplitudes: np.ndarray,
    start: np.ndarray,
    *,
    tol: float = 1e-3,
    max_rounds: int = 50,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
) -> Trained:
    """Finds the mode; its arrays hold U, and the state of every shard F at it."""
    search = ModeSearch(features, amplitudes, start, tol)
    return train(search, features.shards, max_rounds=max_rounds, progress=progress, checkpoints=checkpoints)


def objective_at(features: FeatureShards, amplitudes: np.ndarray, U: np.ndarray) -> float:
    """Gives Ψ(U), and leaves the latents of all rows there beside their shards, both exact."""
    features.shards.update(start_step, V=features.inwards(U), amplitudes=amplitudes)
    likelihood = features.shards.update(gradient_step, amplitudes=amplitudes)["objective"]
    return float(likelihood) - 0.5 * float(np.vdot(U, U))


def has_converged(history: list[Measures], tol: float) -> bool:
    """Tells whether the mode was found, or, where no step went up, missed by so little that rounding explains it."""
    if not history:
        return False
    stuck = history[-1]["step"] < _SHORTEST
    return history[-1]["distance"] < (100.0 * tol if stuck else tol)


def hessian_product(features: FeatureShards, amplitudes: np.ndarray, *, rounded: bool) -> Product:
    """Gives V ↦ H V, H = -∇∇Ψ at the F of the shards; `rounded` does it in float32 where features are stored."""

    def product(V: np.ndarray) -> np.ndarray:
        inner = features.inwards(V * amplitudes)
        sums = features.shards.sum(product_step, V=inner, rounded=rounded)["product"]
        return features.outwards(np.asarray(sums, np.float64)) * amplitudes + V

    return product


def start_step(
    shard: Shard[FeatureRows], state: Arrays, V: np.ndarray, amplitudes: np.ndarray
) -> tuple[Arrays, Arrays]:
    """Step: latents of all rows at U."""
    return {"F": _latents(shard.data, V, amplitudes)}, {}


def gradient_step(shard: Shard[FeatureRows], state: Arrays, amplitudes: np.ndarray) -> tuple[Arrays, Arrays]:
    """Step: the likelihood and its gradient; leaves probabilities for the products to come."""
    data, F = shard.data, state["F"]
    gradient = np.zeros((data.basis.size, F.shape[1]))
    P = probabilities(F)
    R = residuals(P, data.y) * amplitudes
    for rows, block in data.blocks():
        gradient += block.T @ R[rows]
    objective = np.asarray(log_likelihoods(F, data.y).sum())
    return {"F": F, "P": P.astype(np.float32)}, {"gradient": gradient, "objective": objective}


def shared_gram_step(shard: Shard[FeatureRows], state: Arrays, every: int) -> Arrays:
    """Step: Φᵀ diag(w) Φ, w_n the mean curvature of a row over classes; one preconditioner serves all classes. Only
    every so many-th row of a block is looked at, and counts as many times."""
    P = state["P"]
    w = every * (1.0 - np.einsum("nc,nc->n", P, P)) / max(1, P.shape[1] - 1)
    w = np.sqrt(np.maximum(w, 0.0))[:, None]
    weighted = (block[::every] * w[rows][::every] for rows, block in shard.data.rounded_blocks())
    return {"gram": np.asarray(sum(block.T @ block for block in weighted))}


def product_step(shard: Shard[FeatureRows], state: Arrays, V: np.ndarray, rounded: bool) -> Arrays:
    """Step: Φᵀ W Φ V, from float32 features and probabilities or from exact ones."""
    total = np.zeros(V.shape)
    P = state["P"] if rounded else probabilities(state["F"])
    for rows, block in shard.data.rounded_blocks() if rounded else shard.data.blocks():
        T = block @ V.astype(block.dtype, copy=False)
        total += (curve(P[rows], T).T @ block).T
    return {"product": total}


def direction_step(
    shard: Shard[FeatureRows], state: Arrays, V: np.ndarray, amplitudes: np.ndarray
) -> tuple[Arrays, Arrays]:
    """Step: what a whole step would add to the latents, and the likelihood after it."""
    D = _latents(shard.data, V, amplitudes)
    objective = np.asarray(log_likelihoods(state["F"] + D, shard.data.y).sum())
    return {**state, "D": D}, {"objective": objective}


def try_step(shard: Shard[FeatureRows], state: Arrays, steps: np.ndarray) -> Arrays:
    """Step: the likelihood after steps of these lengths."""
    y = shard.data.y
    return {"objectives": np.array([log_likelihoods(state["F"] + t * state["D"], y).sum() for t in steps])}


def move_step(shard: Shard[FeatureRows], state: Arrays, length: float) -> tuple[Arrays, Arrays]:
    """Step: the latents after a step of this length."""
    return {"F": state["F"] + length * state["D"]}, {}


def _latents(data: FeatureRows, V: np.ndarray, amplitudes: np.ndarray) -> np.ndarray:
    F = np.empty((data.y.size, V.shape[1]))
    for rows, block in data.blocks():
        F[rows] = block @ V
    F *= amplitudes
    return F
