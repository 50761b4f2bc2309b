"""Problems drawn from BMLPL itself, shards of them, and plain numpy oracles of its formulas."""

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, expit, gammaln

from tagcore.models.bmlpl.em import EM, EMSettings
from tagcore.models.bmlpl.rows import ShardRows
from tagcore.shards import Arrays, Shards, row_shards


def planted(n=300, words=25, labels=18, topics=4, seed=0, constant=0.0):
    """(X with a constant column, Y) of the model: topics of few labels, weights that words tell."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.3, (n, words)).astype(float)
    X[:, -1] = 1.0
    W = rng.normal(0, 0.8, (words, topics))
    W[-1] += constant
    V = rng.dirichlet(np.full(labels, 0.15), topics).T
    U = rng.gamma(1.0, np.exp(np.minimum(X @ W, 4.0)))
    Y = rng.random((n, labels)) < -np.expm1(-U @ V.T)
    return sp.csr_matrix(X), sp.csr_matrix(Y.astype(float))


def first_arrays(X, Y, topics=4, seed=1, tau=0.5, dtype=np.float64) -> Arrays:
    """a random start with weights that are not zero."""
    rng = np.random.default_rng(seed)
    V = rng.dirichlet(np.ones(Y.shape[1]), topics).T
    W = rng.normal(0, 0.2, (X.shape[1], topics))
    return {
        "V": V.astype(dtype),
        "W": W.astype(dtype),
        "r": np.full(topics, 0.8),
        "tau": np.full(X.shape[1], tau),
    }


def shards_of(X, Y, parts=1, mask=None, dtype=np.float64, executor=None) -> Shards:
    cuts = row_shards(X.shape[0], parts)
    X = X.astype(dtype)
    mask = None if mask is None else mask.astype(dtype)
    parts = [(X[c], Y[c], None if mask is None else mask[c]) for c in cuts]
    return Shards(parts, ShardRows.from_matrices, executor, firsts=[c.start for c in cuts])


def run(shards: Shards, start: Arrays, rounds: int, **settings) -> tuple[Arrays, list[float]]:
    learner = EM(EMSettings(**settings), start)
    arrays, objectives = learner.init(shards), []
    for number in range(rounds):
        arrays, measures = learner.round(shards, arrays, number)
        objectives.append(measures["objective"])
    return arrays, objectives


def naive_iteration(X, Y, V, W, r, tau, eta, m=None):
    """one iteration of section 3.2 with an exact M-step, cell by cell: (V, W, m, J of the start)."""
    X, Y = X.toarray(), Y.toarray() > 0
    psi = X @ W
    m = r * np.exp(psi) if m is None else m
    U = (m + r) * expit(psi)
    J = mean_objective(Y, U, V, psi, W, r, tau, eta)
    m, counts = np.zeros_like(U), np.zeros_like(V)
    for n, label in zip(*np.nonzero(Y), strict=True):
        lam = U[n] @ V[label]
        q = U[n] * V[label] / -np.expm1(-lam)
        m[n] += q
        counts[label] += q
    V = (eta + counts) / (eta + counts).sum(axis=0)
    new_W = np.empty_like(W)
    for k in range(W.shape[1]):
        omega = (m[:, k] + r[k]) * np.tanh(psi[:, k] / 2) / (2 * psi[:, k])
        S = X.T @ (omega[:, None] * X) + np.diag(tau)
        new_W[:, k] = np.linalg.solve(S, X.T @ ((m[:, k] - r[k]) / 2))
    return V, new_W, m, J


def mean_objective(Y, U, V, psi, W, r, tau, eta, mask=None):
    """J of section 3.1 as it is written; under a mask the likelihood is of its cells alone."""
    lam = U @ V.T
    seen = np.ones_like(lam, bool) if mask is None else mask
    likelihood = np.log(np.expm1(lam[Y & seen])).sum() - lam[seen].sum()
    prior_U = (r * np.log(U) - U * np.exp(-psi) - r * psi - gammaln(r)).sum()
    return likelihood + prior_U + eta * np.log(V).sum() - 0.5 * (tau[:, None] * W**2).sum()


def geo_objective(Y, m_before, V, psi, W, r, tau, eta):
    """F of section 3.1, right after the E-step that began with counts m_before."""
    U = np.exp(digamma(m_before + r)) * expit(psi)
    lam = U @ V.T
    m = U * ((Y / -np.expm1(-lam)) @ V)
    of_counts = gammaln(m + r) - gammaln(r) + m * psi - (m + r) * np.logaddexp(0, psi) - m * np.log(U)
    return of_counts.sum() + np.log(np.expm1(lam[Y])).sum() + eta * np.log(V).sum() - 0.5 * (tau[:, None] * W**2).sum()
