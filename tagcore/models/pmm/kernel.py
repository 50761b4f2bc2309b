"""Arithmetic of the two-way Poisson mixture: one round of EM over the classes of a shard, and class posteriors.

Layout of a shard: documents, components and seen words ("slots") of a class stand together, one class after the other;
`layout` holds where each class begins in the documents, components, slots, and in the blocks of slots × components.
"""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def log_rates(layout, clusters, rates, table):
    """Fills the blocks of ln λ: for every seen word of a class, its rate in each component of the class."""
    _, components, slots, blocks = layout
    for k in range(components.size - 1):
        n = components[k + 1] - components[k]
        for j in range(slots[k], slots[k + 1]):
            at = blocks[k] + (j - slots[k]) * n
            for m in range(n):
                table[at + m] = math.log(rates[components[k] + m, clusters[j]])


@njit(cache=True, nogil=True)
def expect(layout, rows, exposure, forced, log_shares, mass, table, sums, log_likelihood):
    """E-step: adds responsibilities up in `sums` (R, N, S) and tells how likely each document is.

    `rows` are (values, slots, starts); `mass` is Λ of each component. A document with forced[i] ≥ 0 belongs to that
    component of its class alone, whatever its words say.
    """
    values, words, starts = rows
    documents, components, slots, blocks = layout
    weight, exposed, counts = sums
    widest = 0
    for k in range(components.size - 1):
        widest = max(widest, components[k + 1] - components[k])
    p = np.empty(widest)
    for k in range(components.size - 1):
        first, n = components[k], components[k + 1] - components[k]
        for i in range(documents[k], documents[k + 1]):
            for m in range(n):
                p[m] = log_shares[first + m] - exposure[i] * mass[first + m]
            for q in range(starts[i], starts[i + 1]):
                at, x = blocks[k] + (words[q] - slots[k]) * n, values[q]
                for m in range(n):
                    p[m] += x * table[at + m]
            top = p[0]
            for m in range(1, n):
                top = max(top, p[m])
            total = 0.0
            for m in range(n):
                p[m] = math.exp(p[m] - top)
                total += p[m]
            log_likelihood[i] = top + math.log(total)
            for m in range(n):
                if forced[i] < 0:
                    p[m] /= total
                else:
                    p[m] = 1.0 if m == forced[i] else 0.0
                weight[first + m] += p[m]
                exposed[first + m] += p[m] * exposure[i]
            for q in range(starts[i], starts[i + 1]):
                at, x = blocks[k] + (words[q] - slots[k]) * n, values[q]
                for m in range(n):
                    counts[at + m] += p[m] * x


@njit(cache=True, nogil=True)
def _fit_rates(k, layout, clusters, unseen, sums, prior, rates, sizes):
    """λ of one class: the mode of a gamma distribution. An empty word cluster keeps its rates: it may fill again."""
    _, components, slots, blocks = layout
    _, exposed, counts = sums
    a, b = prior
    n, n_clusters = components[k + 1] - components[k], rates.shape[1]
    sizes[:] = 0.0
    sizes[unseen[k, 1]] += unseen[k, 0]
    total = np.zeros((n, n_clusters))
    for j in range(slots[k], slots[k + 1]):
        sizes[clusters[j]] += 1.0
        at = blocks[k] + (j - slots[k]) * n
        for m in range(n):
            total[m, clusters[j]] += counts[at + m]
    for m in range(n):
        for c in range(n_clusters):
            if sizes[c] > 0.0:
                rates[components[k] + m, c] = (total[m, c] + a) / (sizes[c] * exposed[components[k] + m] + b)


@njit(cache=True, nogil=True)
def _move_words(k, layout, clusters, unseen, sums, rates):
    """Puts every word of one class into the cluster that explains it best; the old one unless strictly worse."""
    _, components, slots, blocks = layout
    _, exposed, counts = sums
    first, n, n_clusters = components[k], components[k + 1] - components[k], rates.shape[1]
    logs, expected = np.empty((n_clusters, n)), np.zeros(n_clusters)
    for c in range(n_clusters):
        for m in range(n):
            logs[c, m] = math.log(rates[first + m, c])
            expected[c] += exposed[first + m] * rates[first + m, c]
    for j in range(slots[k], slots[k + 1]):
        at = blocks[k] + (j - slots[k]) * n
        best, best_value = clusters[j], -expected[clusters[j]]
        for m in range(n):
            best_value += counts[at + m] * logs[clusters[j], m]
        for c in range(n_clusters):
            value = -expected[c]
            for m in range(n):
                value += counts[at + m] * logs[c, m]
            if value > best_value + 1e-12 * abs(best_value):
                best, best_value = c, value
        clusters[j] = best
    for c in range(n_clusters):
        if expected[c] < expected[unseen[k, 1]]:
            unseen[k, 1] = c


@njit(cache=True, nogil=True)
def maximise(layout, clusters, unseen, sums, prior, pseudo, rates, shares, mass):
    """M-step of all classes: shares π, rates λ, word clusters, rates again; `mass` becomes Λ of the new rates.

    `unseen` holds for each class how many words none of its documents has, and their cluster. Components whose share is
    0 were dropped and stay so.
    """
    _, components, _, _ = layout
    weight = sums[0]
    sizes = np.empty(rates.shape[1])
    for k in range(components.size - 1):
        own = slice(components[k], components[k + 1])
        total = 0.0
        for m in range(own.start, own.stop):
            total += weight[m] + pseudo if shares[m] > 0.0 else 0.0
        for m in range(own.start, own.stop):
            shares[m] = (weight[m] + pseudo) / total if shares[m] > 0.0 else 0.0
        _fit_rates(k, layout, clusters, unseen, sums, prior, rates, sizes)
        _move_words(k, layout, clusters, unseen, sums, rates)
        _fit_rates(k, layout, clusters, unseen, sums, prior, rates, sizes)
        for m in range(own.start, own.stop):
            mass[m] = 0.0
            for c in range(rates.shape[1]):
                mass[m] += sizes[c] * rates[m, c]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def class_log_weights(words, values, mixture, lp, out):
    """ln P(class, document) but for what all classes share, into `out`; `lp` is scratch, one place per component.

    `mixture` is (ln λ as words × components, ln π, Λ, class starts, ln prior, scale, temper). The length s of a
    document is `scale` times the sum of its values, or 1 where scale is 0; `temper` multiplies the likelihoods.
    """
    table, log_shares, mass, starts, log_prior, scale, temper = mixture
    lp[:] = 0.0
    length = np.float32(0.0)
    for q in range(words.size):
        x = np.float32(values[q])
        length += x
        row = table[words[q]]
        for m in range(lp.size):
            lp[m] += x * row[m]
    s = length * scale if scale > 0.0 else 1.0
    for k in range(out.size):
        first = starts[k]
        top = log_shares[first] + temper * (lp[first] - s * mass[first])
        if starts[k + 1] == first + 1:  # most classes have one component, which needs neither exp nor ln
            out[k] = log_prior[k] + top
            continue
        for m in range(first + 1, starts[k + 1]):
            top = max(top, log_shares[m] + temper * (lp[m] - s * mass[m]))
        if top == -np.inf:
            out[k] = -np.inf
            continue
        total = 0.0
        for m in range(first, starts[k + 1]):
            total += math.exp(log_shares[m] + temper * (lp[m] - s * mass[m]) - top)
        out[k] = log_prior[k] + top + math.log(total)


@njit(cache=True, nogil=True)
def class_log_posterior(words, values, mixture, lp, out):
    """ln P(class | document) into `out`; see `class_log_weights`."""
    class_log_weights(words, values, mixture, lp, out)
    peak, total = out.max(), 0.0
    for k in range(out.size):
        total += math.exp(out[k] - peak)
    norm = peak + math.log(total)
    for k in range(out.size):
        out[k] -= norm


@njit(cache=True, nogil=True)
def posterior_rows(data, indices, indptr, mixture, out):
    """`class_log_posterior` of CSR rows."""
    lp = np.empty(mixture[1].size, np.float32)
    for i in range(indptr.size - 1):
        row = slice(indptr[i], indptr[i + 1])
        class_log_posterior(indices[row], data[row], mixture, lp, out[i])
