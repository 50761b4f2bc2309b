"""Equation 19 of BMLPL: -log(1 - p) = Σ_k r_k log(1 + v_lk exp(psi_k)), for all labels of a row or for some.

Factors are multiplied before a logarithm is taken. As v ≤ 1, the product over topics of 1 + exp(psi_k) bounds that of
every label, and one number a row says when logarithms are due: seldom more than once.
"""

import numpy as np
from numba import njit

_ROOM = 1e300
_GROUP = 8  # (1 + exp(60)) ** 8 is still a float64


@njit(cache=True, nogil=True)
def survival(E, topics, shapes, out):
    """out[i, l] = Σ_k shapes[k] log(1 + topics[k, l] E[i, k]); E = exp(psi), at most exp(60)."""
    product = np.empty(topics.shape[1])
    for i in range(E.shape[0]):
        _row(E[i], topics, shapes, None, product, out[i])


@njit(cache=True, nogil=True)
def survival_of(E, topics, shapes, chosen, out):
    """The same, to the last bit, of the labels chosen[i] alone."""
    product = np.empty(chosen.shape[1])
    for i in range(E.shape[0]):
        _row(E[i], topics, shapes, chosen[i], product, out[i])


@njit(cache=True, nogil=True)
def _row(e, topics, shapes, labels, product, out):
    """`labels` None means all, in order: known when it is compiled, so that this case runs over contiguous memory."""
    out[:] = 0.0
    product[:] = 1.0
    n_topics, bound, k = e.size, 1.0, 0
    while k < n_topics:
        end = k + 1  # a group shares its shape, so that its factors may share a logarithm
        while end < n_topics and end - k < _GROUP and shapes[end] == shapes[k]:
            end += 1
        grows = 1.0
        for j in range(k, end):
            grows *= 1.0 + e[j]
        if k and (shapes[k] != shapes[k - 1] or bound > _ROOM / grows):
            _flush(shapes[k - 1], product, out)
            bound = 1.0
        if end - k == _GROUP:
            _multiply_group(e, k, topics, labels, product)
        else:
            for j in range(k, end):
                for at in range(product.size):
                    label = at if labels is None else labels[at]
                    product[at] *= 1.0 + topics[j, label] * e[j]
        bound *= grows
        k = end
    _flush(shapes[n_topics - 1], product, out)


@njit(cache=True, nogil=True)
def _multiply_group(e, k, topics, labels, product):
    v0, v1, v2, v3 = topics[k], topics[k + 1], topics[k + 2], topics[k + 3]
    v4, v5, v6, v7 = topics[k + 4], topics[k + 5], topics[k + 6], topics[k + 7]
    e0, e1, e2, e3 = e[k], e[k + 1], e[k + 2], e[k + 3]
    e4, e5, e6, e7 = e[k + 4], e[k + 5], e[k + 6], e[k + 7]
    for at in range(product.size):
        j = at if labels is None else labels[at]
        a = (1.0 + v0[j] * e0) * (1.0 + v1[j] * e1) * ((1.0 + v2[j] * e2) * (1.0 + v3[j] * e3))
        b = (1.0 + v4[j] * e4) * (1.0 + v5[j] * e5) * ((1.0 + v6[j] * e6) * (1.0 + v7[j] * e7))
        product[at] *= a * b


@njit(cache=True, nogil=True)
def _flush(shape, product, out):
    for at in range(product.size):
        out[at] += shape * np.log(product[at])
        product[at] = 1.0
