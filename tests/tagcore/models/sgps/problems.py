"""Small problems for Gaussian process classifiers, and the full Laplace approximation written out as an oracle."""

import itertools

import numpy as np

from tagcore.models.sgps.basis import make_basis
from tagcore.models.sgps.evidence import laplace_evidence
from tagcore.models.sgps.rows import LabelledMatrix, Layout
from tagcore.numeric.covariance import COVARIANCES

JITTER = 1e-6


def three_classes(n=60, seed=0):
    """rows of three inputs, half of the values zero, whose class two of them tell, all but for some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.8)
    y = (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(np.int64) + (X[:, 1] > 0.3)
    return X, y


def features_of(X, y, Z, *, covariance="se", scale=1.3, n_shards=1, mode="store", executor=None):
    """features of these rows on these prototypes; shards as small as asked for."""
    layout = SmallShards(n_shards, mode, *([executor] if executor else []))
    basis = make_basis(covariance, np.asarray(scale, float), Z, JITTER)
    return layout.features(LabelledMatrix(X, y), basis)


class SmallShards(Layout):
    """a layout that cuts however few rows there are."""

    def _cuts(self, data):
        edges = np.linspace(0, data.classes.size, self.n_shards + 1).astype(int)
        return [slice(int(a), int(b)) for a, b in itertools.pairwise(edges)]

    def _executor(self, data):
        return self.executor


def evidence_of(X, y, Z, amplitudes, kind, tol=1e-11, **settings):
    """(features, evidence) at parameters."""
    features = features_of(X, y, Z, **settings)
    start = np.zeros((features.basis.size, len(amplitudes)))
    return features, laplace_evidence(features, np.asarray(amplitudes, float), start, kind, tol=tol)


def full_laplace(X, y, X_new, n_classes, covariance, scale, amplitude):
    """(latent means, covariances, log evidence) of the full Laplace approximation, all N · C latents at once."""
    n, k = len(y), COVARIANCES[covariance](scale, amplitude)
    jitter = JITTER * amplitude**2
    K = np.kron(np.eye(n_classes), k.between(X, X) + jitter * np.eye(n))
    Y = np.zeros((n_classes, n))
    Y[y, np.arange(n)] = 1.0
    Y, f = Y.ravel(), np.zeros(n * n_classes)
    inverse = np.linalg.inv(K)
    for _ in range(60):
        P, W = _softmax(f, n_classes)
        f = np.linalg.solve(inverse + W, W @ f + Y - P)
    P, W = _softmax(f, n_classes)
    F = f.reshape(n_classes, n)
    likelihood = f @ Y - np.log(np.exp(F).sum(axis=0)).sum()
    evidence = likelihood - 0.5 * f @ inverse @ f - 0.5 * np.linalg.slogdet(np.eye(n * n_classes) + K @ W)[1]
    C = W - W @ np.linalg.solve(inverse + W, W)
    means, covariances = [], []
    for x in X_new:
        cross = np.kron(np.eye(n_classes), k.between(X, x[None]))
        means.append(cross.T @ (Y - P))
        prior = (k.diagonal(x[None])[0] + jitter) * np.eye(n_classes)
        covariances.append(prior - cross.T @ C @ cross)
    return np.array(means), np.array(covariances), evidence


def _softmax(f, n_classes):
    F = f.reshape(n_classes, -1)
    P = np.exp(F) / np.exp(F).sum(axis=0)
    W = np.diag(P.ravel())
    for c in range(n_classes):
        for d in range(n_classes):
            rows, columns = slice(c * F.shape[1], (c + 1) * F.shape[1]), slice(d * F.shape[1], (d + 1) * F.shape[1])
            W[rows, columns] -= np.diag(P[c] * P[d])
    return P.ravel(), W
