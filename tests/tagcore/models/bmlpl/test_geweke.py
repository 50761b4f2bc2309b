"""Geweke's joint distribution test of the Gibbs sampler of BMLPL, on a model so small that it can be repeated."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma

from tagcore.models.bmlpl.gibbs import GibbsLearner, GibbsSettings
from tagcore.models.bmlpl.rows import ShardRows
from tagcore.numeric.read_only import freeze
from tagcore.shards import InProcess, Shards, one_blas_thread

ROWS, WORDS, LABELS, TOPICS, REPLICATES = 12, 3, 3, 2, 1500
E0, F0, A0, B0, ETA = 2.0, 2.0, 5.0, 4.0, 0.7
SETTINGS = GibbsSettings(eta=ETA, learn_r=True, learn_tau=True, r_prior=(E0, F0), tau_prior=(A0, B0), keep=0)


def from_the_prior(rng):
    tau = rng.gamma(A0, 1 / B0, WORDS)
    return {
        "V": np.ascontiguousarray(rng.dirichlet(np.full(LABELS, ETA), TOPICS).T),
        "W": rng.normal(size=(WORDS, TOPICS)) / np.sqrt(tau)[:, None],
        "r": rng.gamma(E0, 1 / F0, TOPICS),
        "tau": tau,
    }


def moments(V, W, r, tau, noise):
    """What is compared; `noise` is log u - psi - E log of a Gamma(r)."""
    return [
        *W.mean(1),
        *(W**2 * tau[:, None]).mean(1),
        W[0] @ W[1],
        W[1] @ W[2],
        *V.mean(1),
        *(V**2).mean(1),
        np.mean(V[0] * V[1]),
        r.mean(),
        np.mean(r**2),
        np.log(r).mean(),
        *tau,
        *np.log(tau),
        noise.mean(),
        np.mean(r * W[2]),
    ]


def prior_moments():
    total = LABELS * ETA
    return [
        *np.zeros(WORDS),
        *np.ones(WORDS),
        0,
        0,
        *np.full(LABELS, 1 / LABELS),
        *np.full(LABELS, ETA * (ETA + 1) / (total * (total + 1))),
        ETA**2 / (total * (total + 1)),
        E0 / F0,
        E0 * (E0 + 1) / F0**2,
        digamma(E0) - np.log(F0),
        *np.full(WORDS, A0 / B0),
        *np.full(WORDS, digamma(A0) - np.log(B0)),
        0,
        0,
    ]


def test_new_labels_and_a_sweep_leave_the_joint_law_as_it_is():
    """Every replicate starts from the prior, then twice draws labels given U and V and sweeps.

    Its parameters must still follow the prior. Replicates are independent, so that the error of a mean is known.
    """
    rng = np.random.default_rng(8)
    X = sp.csr_matrix(np.column_stack([rng.normal(size=(ROWS, WORDS - 1)), np.ones(ROWS)]))
    shards = Shards([(X, sp.csr_matrix((ROWS, LABELS)), None)], ShardRows.from_matrices, InProcess())
    moments_by_replicate = []
    with one_blas_thread():  # once, instead of at every one of these short steps
        for replicate in range(REPLICATES):
            learner = GibbsLearner(SETTINGS, from_the_prior(rng), replicate)
            arrays = learner.init(shards)
            psi = X @ arrays["W"]
            shards.state = [freeze({"psi": psi, "U": rng.gamma(arrays["r"], np.exp(psi))})]
            for number in range(2):
                Y = sp.csr_matrix(rng.poisson(shards.state[0]["U"] @ arrays["V"].T) > 0)
                rows = replace(shards.data[0].data, labels=Y.indices, starts=Y.indptr)
                shards.data = [replace(shards.data[0], data=rows)]
                arrays, _ = learner.round(shards, arrays, number)
            noise = np.log(shards.state[0]["U"]) - X @ arrays["W"] - digamma(arrays["r"])
            moments_by_replicate.append(moments(arrays["V"], arrays["W"], arrays["r"], arrays["tau"], noise))
    replicates = np.array(moments_by_replicate)
    z = (replicates.mean(0) - prior_moments()) / (replicates.std(0) / np.sqrt(REPLICATES))
    assert np.abs(z).max() < 3.5, z.round(1)
