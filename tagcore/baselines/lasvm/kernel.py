"""One tag's support vector machine, learnt online (Bordes, Ertekin, Weston and Bottou, 2005).

Coefficients α carry the sign of their row: 0 ≤ α ≤ C where the tag is given, -C ≤ α ≤ 0 elsewhere, Σα = 0. The
gradient of a row is g = y - Σ α·K. A pair (i, j) violates optimality by g_i - g_j where α_i may rise and α_j may fall.
`machine` holds, for `count` support rows: their numbers, α, g, the bounds of α, and K among them; and for every row
of the data its place among them, or -1.
"""

import numpy as np
from numba import njit

from tagcore.kernels.copying import copy_into

_FINISHING = 1000  # steps per support row after which finishing gives up: float32 kernels may never reach a tiny tau
_ROUNDING = 1e-12


@njit(cache=True, nogil=True)
def _products(k, problem, cache):
    """Inner products of row k with all rows, kept from an earlier time or made through the documents of each word.

    Where the cache is full, the oldest row that was not asked for since the hand last passed leaves (CLOCK).
    """
    table, slot_of, row_in, recent, hand = cache
    slot = slot_of[k]
    if slot < 0:
        slot = hand[0]
        while recent[slot]:
            recent[slot] = False
            slot = (slot + 1) % row_in.size
        hand[0] = (slot + 1) % row_in.size
        if row_in[slot] >= 0:
            slot_of[row_in[slot]] = -1
        row_in[slot], slot_of[k] = k, slot
        out = table[slot]
        out[:] = np.float32(0.0)
        (data, indices, indptr), (values, documents, starts), _, _ = problem
        for p in range(indptr[k], indptr[k + 1]):
            x, word = np.float32(data[p]), indices[p]
            for q in range(starts[word], starts[word + 1]):
                out[documents[q]] += x * values[q]
    recent[slot] = True
    return table[slot]


@njit(cache=True, nogil=True)
def _kernel_values(k, machine, count, problem, cache):
    """K of row k with the support rows and itself, into the gram row after the last; a gamma of 0 is linear."""
    support, values = machine[0], machine[5][count]
    _, _, squares, gamma = problem
    products = _products(k, problem, cache)
    for s in range(count):
        values[s] = products[support[s]]
    values[count] = products[k]
    if gamma > 0.0:
        for s in range(count):
            values[s] = np.exp(-gamma * max(squares[k] + squares[support[s]] - 2.0 * values[s], 0.0))
        values[count] = 1.0


@njit(cache=True, nogil=True)
def _insert(k, g, sign, cost, machine, count):
    """Takes row k up with α = 0; its kernel values stand in the gram row after the last."""
    support, alpha, gradient, lower, upper, gram, place = machine
    support[count], alpha[count], gradient[count], place[k] = k, 0.0, g, count
    lower[count], upper[count] = (0.0, cost) if sign > 0 else (-cost, 0.0)
    for s in range(count):
        gram[s, count] = gram[count, s]
    return count + 1


@njit(cache=True, nogil=True)
def _remove(s, machine, count):
    """The last support row moves to place s; returns how many are left."""
    support, alpha, gradient, lower, upper, gram, place = machine
    last = count - 1
    place[support[s]] = -1
    if s < last:
        place[support[last]] = s
        support[s] = support[last]
        for values in (alpha, gradient, lower, upper):
            values[s] = values[last]
        copy_into(gram[s], gram[last, :last])
        gram[s, s] = gram[last, last]
        for t in range(last):
            gram[t, s] = gram[s, t]
    return last


@njit(cache=True, nogil=True)
def _extremes(machine, count):
    """Places of the highest gradient whose α may rise and of the lowest whose α may fall; -1 where there is none."""
    _, alpha, gradient, lower, upper, _, _ = machine
    rising = falling = -1
    highest, lowest = -np.inf, np.inf
    for s in range(count):
        g = gradient[s]
        if g > highest and alpha[s] < upper[s]:
            rising, highest = s, g
        if g < lowest and alpha[s] > lower[s]:
            falling, lowest = s, g
    return rising, falling


@njit(cache=True, nogil=True)
def _gap(machine, rising, falling):
    gradient = machine[2]
    return gradient[rising] - gradient[falling] if rising >= 0 and falling >= 0 else 0.0


@njit(cache=True, nogil=True)
def _add_row(csr, k, factor, weights):
    data, indices, indptr = csr
    for p in range(indptr[k], indptr[k + 1]):
        weights[indices[p]] += factor * data[p]


@njit(cache=True, nogil=True)
def _direction_step(i, j, machine, count, problem, weights):
    """Raises α_i and lowers α_j to the best point on that line, or to the first bound."""
    support, alpha, gradient, lower, upper, gram, _ = machine
    room_up, room_down = upper[i] - alpha[i], alpha[j] - lower[j]
    curvature = max(np.float64(gram[i, i]) + gram[j, j] - 2.0 * gram[i, j], 1e-12)
    step = min((gradient[i] - gradient[j]) / curvature, room_up, room_down)
    # exactly at its bound but for rounding: a row left just beside it would be chosen again and again for no gain
    alpha[i] = alpha[i] + step if room_up - step > _ROUNDING * (upper[i] - lower[i]) else upper[i]
    alpha[j] = alpha[j] - step if room_down - step > _ROUNDING * (upper[j] - lower[j]) else lower[j]
    row_i, row_j = gram[i], gram[j]
    for s in range(count):
        gradient[s] -= step * np.float64(row_i[s] - row_j[s])
    if problem[3] == 0.0:
        _add_row(problem[0], support[i], step, weights)
        _add_row(problem[0], support[j], -step, weights)


@njit(cache=True, nogil=True)
def _process(k, sign, cost, tau, machine, count, pair, problem, cache, weights):
    """PROCESS: takes row k up if it makes a violating pair with a support row, and moves that pair."""
    rising, falling = pair
    alpha, gradient, gram = machine[1], machine[2], machine[5]
    (data, indices, indptr), _, _, gamma = problem
    g = np.float64(sign)
    if gamma == 0.0:  # the weights give the output of a linear machine without its support rows
        for p in range(indptr[k], indptr[k + 1]):
            g -= weights[indices[p]] * data[p]
    else:
        _kernel_values(k, machine, count, problem, cache)
        for s in range(count):
            g -= alpha[s] * gram[count, s]
    partner = falling if sign > 0 else rising
    if partner < 0 or sign * (g - gradient[partner]) <= tau:
        return count
    if gamma == 0.0:
        _kernel_values(k, machine, count, problem, cache)
    count = _insert(k, g, sign, cost, machine, count)
    if sign > 0:
        _direction_step(count - 1, partner, machine, count, problem, weights)
    else:
        _direction_step(partner, count - 1, machine, count, problem, weights)
    return count


@njit(cache=True, nogil=True)
def _reprocess(machine, count, pair, problem, weights):
    """REPROCESS: moves the pair that violates most, and drops rows with α = 0 that now violate with no other.

    Unlike in the paper the new extremes always stay: where they do not violate, a machine without them might find no
    partner for the rows to come, and stop far from the optimum.
    """
    _direction_step(pair[0], pair[1], machine, count, problem, weights)
    rising, falling = _extremes(machine, count)
    if rising < 0 or falling < 0:
        return count, (rising, falling)
    _, alpha, gradient, _, upper, _, _ = machine
    highest, lowest = gradient[rising], gradient[falling]
    s = 0
    while s < count:
        beyond = gradient[s] <= lowest if upper[s] > 0.0 else gradient[s] >= highest
        if alpha[s] == 0.0 and beyond and s not in (rising, falling):
            count = _remove(s, machine, count)
            rising, falling = (s if rising == count else rising), (s if falling == count else falling)
        else:
            s += 1
    return count, (rising, falling)


@njit(cache=True, nogil=True)
def learn_tag(orders, seeds, signs, cost, tau, problem, cache, machine, weights):
    """Passes over the rows in the given orders, then finishing. The machine must be empty: place is -1 everywhere.

    Starts from the rows `seeds`, some with the tag and some without, at α = 0. Returns the number of support rows,
    the intercept, the largest violation left, and how often a row was turned away because the machine was full.
    """
    gradient, gram, place = machine[2], machine[5], machine[6]
    weights[:] = 0.0
    count = turned_away = 0
    for k in seeds:
        _kernel_values(k, machine, count, problem, cache)
        count = _insert(k, np.float64(signs[k]), signs[k], cost, machine, count)
    pair = _extremes(machine, count)
    for order in orders:
        for k in order:
            if place[k] < 0 and count < len(gram):
                before = count
                count = _process(k, signs[k], cost, tau, machine, count, pair, problem, cache, weights)
                if count > before:
                    pair = _extremes(machine, count)
            elif place[k] < 0:
                turned_away += 1
            if _gap(machine, *pair) > tau:
                count, pair = _reprocess(machine, count, pair, problem, weights)
    for _ in range(_FINISHING * count):
        if _gap(machine, *pair) <= tau:
            break
        count, pair = _reprocess(machine, count, pair, problem, weights)
    rising, falling = pair
    highest = gradient[rising] if rising >= 0 else gradient[falling]
    lowest = gradient[falling] if falling >= 0 else gradient[rising]
    return count, 0.5 * (highest + lowest), _gap(machine, rising, falling), turned_away
