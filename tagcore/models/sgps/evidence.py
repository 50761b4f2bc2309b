"""The Laplace evidence log Z = Ψ(Û) - ½ log|H| and its slopes by log length scale and log amplitude.

All powers of 2π cancel. Notation is that of the derivation in docs/models: R = Y - Π, G the slope of -½ log|H| by the
features, J its part through H at fixed Π, g its slope by the latents, V = H⁻¹ Φᵀ g what the mode itself moves.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from tagcore.models.sgps.features import FeatureRows, FeatureShards
from tagcore.models.sgps.hessian import Curvature, apply_inverses, factorise
from tagcore.models.sgps.mode import FLOAT32_REACHES, find_mode, hessian_product
from tagcore.models.sgps.softmax import curve, probabilities, residuals
from tagcore.numeric.conjugate_gradients import conjugate_gradients, inner_products, residuals_fall_to
from tagcore.shards import Arrays, Shard

_CG_STEPS = 1000


@dataclass(frozen=True, eq=False)
class Evidence:
    """log Z at one choice of parameters, the latents of the mode, and the factors of H there."""

    value: float
    latents: np.ndarray
    curvature: Curvature


@dataclass(frozen=True)
class Slopes:
    """Slopes of log Z by the logarithm of every length scale and of every class's amplitude."""

    length_scale: np.ndarray
    amplitudes: np.ndarray


def laplace_evidence(
    features: FeatureShards, amplitudes: np.ndarray, start: np.ndarray, kind: str, *, tol: float, max_rounds: int = 50
) -> Evidence:
    """Finds the mode and gives the evidence there."""
    trained = find_mode(features, amplitudes, start, tol=tol, max_rounds=max_rounds)
    return evidence_at(features, amplitudes, trained.arrays["U"], trained.history[-1]["objective"], kind)


def evidence_at(
    features: FeatureShards, amplitudes: np.ndarray, U: np.ndarray, objective: float, kind: str
) -> Evidence:
    """Gives the evidence at a mode that is known, whose latents the shards hold."""
    curvature = factorise(features, amplitudes, kind)
    return Evidence(objective - 0.5 * curvature.log_determinant, U, curvature)


def evidence_slopes(features: FeatureShards, amplitudes: np.ndarray, evidence: Evidence, tol: float = 1e-8) -> Slopes:
    """Gives the slopes of log Z, by reverse differentiation: any number of parameters costs the same.

    `tol` is of the residual, relative, with which it is known how the mode moves.
    """
    shards, basis, curvature = features.shards, features.basis, evidence.curvature
    inverses = curvature.inverses()
    moved = shards.update(determinant_step, inverses=inverses, kind=curvature.kind, amplitudes=amplitudes)["moved"]
    V, _ = conjugate_gradients(
        hessian_product(features, amplitudes, rounded=tol > FLOAT32_REACHES),
        moved,
        lambda residual: apply_inverses(inverses, residual),
        _CG_STEPS,
        inner_products(None),
        residuals_fall_to(tol),
    )
    sums = shards.sum(slopes_step, U=evidence.latents, V=V, amplitudes=amplitudes)
    L = basis.factor
    of_factor = -np.tril(basis.unwhiten(sums["inner"]))
    lower = np.tril(L.T @ of_factor)
    lower[np.diag_indices_from(lower)] *= 0.5
    S = basis.unwhiten(solve_triangular(L, lower.T, lower=True, trans="T", check_finite=False).T)
    of_covariance = 0.5 * (S + S.T)
    Z = basis.prototypes
    by_prototypes = basis.k.length_scale_slopes(Z, Z, basis.covariances(Z), of_covariance)
    return Slopes(sums["length_scale"] + by_prototypes, sums["amplitudes"])


def determinant_step(
    shard: Shard[FeatureRows], state: Arrays, inverses: np.ndarray, kind: str, amplitudes: np.ndarray
) -> tuple[Arrays, Arrays]:
    """Step: what log|H| depends on, through features (J) and latents (g), which stay; Φᵀ g is summed."""
    P = probabilities(state["F"])
    C, M = amplitudes.size, shard.data.basis.size
    J, h, g = np.zeros((len(P), M)), np.empty(P.shape), np.empty(P.shape)
    moved = np.zeros((M, C))
    for rows, block in shard.data.whitened_blocks():
        p = P[rows]
        if kind == "block":
            for c in range(C):
                T = block @ (amplitudes[c] * inverses[c])
                h[rows, c] = amplitudes[c] * np.einsum("nm,nm->n", T, block)
                J[rows] += (amplitudes[c] * p[:, c] * (1.0 - p[:, c]))[:, None] * T
            q = h[rows] * (1.0 - 2.0 * p) * p
            h[rows] *= p * (1.0 - p)
        else:
            whole, q, spent = inverses[0].reshape(C, M, C, M), np.zeros(p.shape), np.zeros(p.shape)
            for c in range(C):
                for d in range(C):
                    T = block @ (amplitudes[c] * amplitudes[d] * whole[c, :, d])
                    inner = np.einsum("nm,nm->n", T, block)
                    weights = p[:, c] * ((c == d) - p[:, d])
                    J[rows] += weights[:, None] * T
                    spent[:, d] += weights * inner
                    q[:, c] += p[:, c] * ((c == d) - 2.0 * p[:, d]) * inner
            h[rows] = spent
        g[rows] = q - p * q.sum(axis=1, keepdims=True)
        moved += block.T @ (g[rows] * amplitudes)
    return {**state, "P": P.astype(np.float32), "J": J, "h": h, "g": g}, {"moved": moved}


def slopes_step(
    shard: Shard[FeatureRows], state: Arrays, U: np.ndarray, V: np.ndarray, amplitudes: np.ndarray
) -> Arrays:
    """Step: slopes by length scales through k(X, Z), by amplitudes, and Gᵀ Φ for those through k(Z, Z)."""
    data, basis = shard.data, shard.data.basis
    inner = np.zeros((basis.size, basis.size))
    by_scale, by_amplitude = np.zeros(max(1, basis.length_scale.size)), np.zeros(amplitudes.size)
    for rows, block in data.whitened_blocks():
        F, g = state["F"][rows], state["g"][rows]
        P = probabilities(F)
        R = residuals(P, data.y[rows])
        moved = (block @ V) * amplitudes
        B = curve(P, moved.copy())
        left = R - 0.5 * g + 0.5 * B
        G = (left * amplitudes) @ U.T
        G -= state["J"][rows]
        G -= 0.5 * ((R * amplitudes) @ V.T)
        inner += G.T @ block
        by_amplitude += (left * F - state["h"][rows] - 0.5 * R * moved).sum(axis=0)
        of_covariance = basis.unwhiten(G.T).T
        X = data.X[rows]
        by_scale += basis.k.length_scale_slopes(X, basis.prototypes, basis.covariances(X), of_covariance)
    return {"inner": inner, "length_scale": by_scale, "amplitudes": by_amplitude}
