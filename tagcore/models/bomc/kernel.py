"""Bayesian online multi-label learning: one document at a time through Gaussian density filtering.

Names follow the paper's factor graph. For class c of one row: f_c has mean m and variance v, s is its sign, the factor
is s (f_c - b) > eps, and the hub b ("bias") has natural parameters P, T; pi and tau are the messages to it.
Loops over classes are written so that they vectorise, and without reassociation: a class gets the same bits wherever it
stands.
"""

import math

import numpy as np
from numba import njit

from tagcore.models.bomc.truncated import HIGH, LOW, STEPS, gain, noisy_moments, shrinkage

COUPLED, INDEPENDENT, MULTI_CLASS = range(3)  # variants
SMALLEST = 1e-12  # of a variance


@njit(cache=True, nogil=True)
def score_row(values, words, mean, variance, first, m, v):
    """m = <w, x> and v = its variance, of the classes from `first` on."""
    stop = first + m.size
    m[:] = 0.0
    v[:] = 0.0
    for p in range(words.size):
        x, mu, var = values[p], mean[words[p]][first:stop], variance[words[p]][first:stop]
        square = x * x
        for c in range(m.size):
            m[c] += x * mu[c]
            v[c] += square * var[c]


@njit(cache=True, nogil=True)
def move_row(values, words, g, h, first, mean, variance):
    """Conditions every weight of the classes from `first` on on its message, marginal by marginal."""
    stop = first + g.size
    smallest = mean.dtype.type(SMALLEST)
    one = mean.dtype.type(1.0)
    for p in range(words.size):
        x, mu, var = values[p], mean[words[p]][first:stop], variance[words[p]][first:stop]
        square = x * x
        for c in range(g.size):
            old = var[c]
            mu[c] += x * old * g[c]
            var[c] = max(smallest, old * (one - square * old * h[c]))


@njit(cache=True, nogil=True, error_model="numpy")
def _look_up(t, table, V, W):
    """V by cubic interpolation (V' = -W is in the table, too), W = V (V + t)."""
    lowest = 0.0
    step = 1.0 / STEPS
    for c in range(t.size):
        lowest = min(lowest, t[c])
        at = (min(HIGH, max(LOW, t[c])) - LOW) * STEPS
        i = np.uint64(at)
        j = min(i + np.uint64(1), np.uint64(table.shape[0] - 1))
        a = at - np.float64(i)
        b = 1.0 - a
        value = b * b * ((1.0 + 2.0 * a) * table[i, 0] - step * a * table[i, 1])
        value += a * a * ((3.0 - 2.0 * a) * table[j, 0] + step * b * table[j, 1])
        V[c] = value
        W[c] = min(1.0, max(0.0, value * (value + t[c])))
    if lowest < LOW:
        for c in range(t.size):
            if t[c] < LOW:
                V[c], W[c] = gain(t[c]), shrinkage(t[c])


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(factors, P, T, pi, tau, damp, table, room, g, h):
    """All classes read the same hub and answer with new messages."""
    m, v, s, eps = factors
    t, V, W = room[2], room[3], room[4]
    for c in range(m.size):
        vb = 1.0 / (P - pi[c])
        mb = (T - tau[c]) * vb
        t[c] = (s[c] * (m[c] - mb) - eps[c]) / math.sqrt(v[c] + vb)
    _look_up(t, table, V, W)
    for c in range(m.size):
        vb = 1.0 / (P - pi[c])
        mb = (T - tau[c]) * vb
        vd = v[c] + vb
        sd = math.sqrt(vd)
        den = 1.0 / (vd - W[c] * vb)
        g[c] = s[c] * V[c] / sd
        h[c] = W[c] / vd
        pi[c] = damp * pi[c] + (1.0 - damp) * (W[c] * den)
        tau[c] = damp * tau[c] + (1.0 - damp) * ((W[c] * mb - s[c] * sd * V[c]) * den)


@njit(cache=True, nogil=True, error_model="numpy")
def _noisy_sweep(factors, P, T, pi, tau, damp, flips, g, h):
    """The same where labels may be wrong: messages may be negative, so an improper cavity leaves its class alone."""
    m, v, s, eps = factors
    for c in range(m.size):
        precision = P - pi[c]
        if precision <= 0.0:
            continue
        vb = 1.0 / precision
        mb = (T - tau[c]) * vb
        vd = v[c] + vb
        sd = math.sqrt(vd)
        V, W = noisy_moments(s[c] * (m[c] - mb), sd, eps[c], flips[int(s[c] > 0.0)])
        den = vd - W * vb
        g[c] = s[c] * V / sd
        h[c] = W / vd
        pi[c] = damp * pi[c] + (1.0 - damp) * W / den
        tau[c] = damp * tau[c] + (1.0 - damp) * (W * mb - s[c] * sd * V) / den


@njit(cache=True, nogil=True)
def _sum(values):
    """In four runs, so that the processor need not wait for each addition; the order is fixed."""
    a = b = c = d = 0.0
    whole = values.size - values.size % 4
    for i in range(0, whole, 4):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
    for i in range(whole, values.size):
        a += values[i]
    return (a + b) + (c + d)


@njit(cache=True, nogil=True)
def couple(factors, P0, T0, left_out, rule, table, room, g, h):
    """Expectation propagation through the hub: (P, T, sweeps), and in g, h the pushes of the classes.

    `factors` are (m, v, s, eps); `rule` is (tolerance, most sweeps, damping, how often an absent and a present tag are
    wrong). Class `left_out` (or -1) sends no message. Messages that have not settled after the most sweeps get as many
    again, damped by a half.
    """
    tolerance, most, damp, flips = rule
    noisy = max(flips) > 0.0
    pi, tau = room[0], room[1]
    pi[:] = 0.0
    tau[:] = 0.0
    P, T = P0, T0
    if noisy:
        damp = max(damp, 0.5)
    sweeps = 0
    while sweeps < 2 * most:
        held = max(damp, 0.5) if sweeps >= most else damp
        sweeps += 1
        if noisy:
            _noisy_sweep(factors, P, T, pi, tau, held, flips, g, h)
        else:
            _sweep(factors, P, T, pi, tau, held, table, room, g, h)
        if left_out >= 0:
            pi[left_out] = tau[left_out] = 0.0
        new_P, new_T = P0 + _sum(pi), T0 + _sum(tau)
        if new_P <= 0.0:  # only with flips: the hub stays what it was
            return P0, T0, sweeps
        settled = abs(new_T / new_P - T / P) * math.sqrt(new_P) < tolerance and abs(new_P - P) < tolerance * new_P
        P, T = new_P, new_T
        if settled:
            break
    return P, T, sweeps


@njit(cache=True, nogil=True, error_model="numpy")
def stand_alone(factors, bias_mean, bias_variance, flips, table, room, g, h):
    """Every class with a bias of its own, in closed form; the biases move on."""
    m, v, s, eps = factors
    t, V, W = room[2], room[3], room[4]
    if max(flips) > 0.0:
        for c in range(m.size):
            sd = math.sqrt(v[c] + bias_variance[c])
            V[c], W[c] = noisy_moments(s[c] * (m[c] - bias_mean[c]), sd, eps[c], flips[int(s[c] > 0.0)])
    else:
        for c in range(m.size):
            t[c] = (s[c] * (m[c] - bias_mean[c]) - eps[c]) / math.sqrt(v[c] + bias_variance[c])
        _look_up(t, table, V, W)
    for c in range(m.size):
        vd = v[c] + bias_variance[c]
        g[c] = s[c] * V[c] / math.sqrt(vd)
        h[c] = W[c] / vd
        bias_mean[c] -= bias_variance[c] * g[c]
        bias_variance[c] = max(SMALLEST, bias_variance[c] * (1.0 - bias_variance[c] * h[c]))


@njit(cache=True, nogil=True)
def forget(words, now, drift, cap, variance, last):
    """Uncertainty grows with the time since a word was last seen, up to the prior's."""
    for d in words:
        grown = variance.dtype.type(drift * (now - last[d]))
        row = variance[d]
        for c in range(row.size):
            row[c] = min(cap, row[c] + grown)
        last[d] = now


@njit(cache=True, nogil=True)
def _signs(tags, first, least, margins, s, eps):
    """Sign and margin of the classes from `first` on."""
    s[:] = -1.0
    eps[:] = least
    for tag in tags:
        if first <= tag < first + s.size:
            s[tag - first], eps[tag - first] = 1.0, margins[tag]


@njit(cache=True, nogil=True)
def open_groups(tags, tree, opened):
    """A group of siblings takes part in rows that have its parent; the topmost group (the first) in all."""
    opened[:] = False
    opened[0] = True
    for tag in tags:
        if tree[1][tag] >= 0:
            opened[tree[1][tag]] = True


@njit(cache=True, nogil=True)
def count_row(tags, tree, opened, positives, exposures):
    """Who could have been tagged (its parent was) and who was."""
    for group in range(opened.size):
        if opened[group]:
            for tag in range(tree[0][group], tree[0][group + 1]):
                exposures[tag] += 1
    for tag in tags:
        positives[tag] += 1


@njit(cache=True, nogil=True)
def count_rows(tags, tag_starts, tree, positives, exposures):
    """`count_row` for all rows."""
    opened = np.ones(tree[0].size - 1, np.bool_)
    for i in range(tag_starts.size - 1):
        own = tags[tag_starts[i] : tag_starts[i + 1]]
        open_groups(own, tree, opened)
        count_row(own, tree, opened, positives, exposures)


@njit(cache=True, nogil=True)
def skew_margin(positives, exposures, margin):
    """ln(e + 1/r) margins, r = positives to negatives; counts are at least a half."""
    return margin * math.log(math.e + max(0.5, exposures - positives) / max(0.5, positives))


@njit(cache=True, nogil=True)
def _cut(work, size):
    """(factors, pushes, room) of the first `size` classes, all contiguous."""
    factors, pushes = (work[0][:size], work[1][:size], work[2][:size], work[3][:size]), (work[4][:size], work[5][:size])
    room = work[6][:size], work[7][:size], work[8][:size], work[9][:size], work[10][:size]
    return factors, pushes, room


@njit(cache=True, nogil=True)
def learn_rows(rows, labels, order, tree, plan, rule, margins, table, state, counts):
    """Goes through the rows in that order, once; returns the number of sweeps.

    rows (values, words, starts); labels (tags, starts), with every tag its parents too; tree (starts of the groups of
    siblings, the group below each tag or -1); plan (variant, noise², margin, running, prior variance, drift, bias
    drift, prior bias variance); state (mean, variance, bias mean, bias variance, row when each word was last seen);
    counts (positives, exposures, [rows seen]).
    """
    values, words, word_starts = rows
    tags, tag_starts = labels
    variant, noise, margin, running, prior, drift, bias_drift, bias_prior = plan
    mean, variance, bias_mean, bias_variance, last = state
    positives, exposures, seen = counts
    classes = mean.shape[1]
    narrow, wide = np.empty((4, classes), mean.dtype), np.zeros((11, classes))
    opened = np.ones(tree[0].size - 1, np.bool_)
    sweeps = 0
    for i in order:
        x, d = values[word_starts[i] : word_starts[i + 1]], words[word_starts[i] : word_starts[i + 1]]
        own = tags[tag_starts[i] : tag_starts[i + 1]]
        open_groups(own, tree, opened)
        if running:
            count_row(own, tree, opened, positives, exposures)
            for tag in own:
                margins[tag] = skew_margin(positives[tag] + 0.5, exposures[tag] + 1.0, margin)
        if drift > 0.0:
            forget(d, seen[0], drift, mean.dtype.type(prior), variance, last)
        if bias_drift > 0.0:
            for j in range(bias_variance.size):
                bias_variance[j] = min(bias_prior, bias_variance[j] + bias_drift)
        for group in range(opened.size):
            if not opened[group]:
                continue
            first, stop = tree[0][group], tree[0][group + 1]
            size = stop - first
            score_row(x, d, mean, variance, first, narrow[0][:size], narrow[1][:size])
            for c in range(size):
                wide[0, c], wide[1, c] = narrow[0, c], narrow[1, c] + noise
            factors, (g, h), room = _cut(wide, size)
            m, v, s, eps = factors
            _signs(own, first, margin, margins, s, eps)
            if variant == COUPLED:
                P0 = 1.0 / bias_variance[group]
                P, T, used = couple(factors, P0, bias_mean[group] * P0, np.int64(-1), rule, table, room, g, h)
                bias_mean[group], bias_variance[group] = T / P, 1.0 / P
                sweeps += used
            elif variant == INDEPENDENT:
                biases = bias_mean[first:stop], bias_variance[first:stop]
                stand_alone(factors, biases[0], biases[1], rule[3], table, room, g, h)
            else:  # multi-class: one class is right: its own value is the hub of all others
                k = np.int64(own[0])  # `couple` is compiled for one type of numbers
                s[k], eps[k] = -1.0, margin
                P, T, used = couple(factors, 1.0 / v[k], m[k] / v[k], k, rule, table, room, g, h)
                g[k], h[k] = (T / P - m[k]) / v[k], (1.0 - 1.0 / (P * v[k])) / v[k]
                sweeps += used
            for c in range(size):
                narrow[2, c], narrow[3, c] = g[c], h[c]
            move_row(x, d, narrow[2][:size], narrow[3][:size], first, mean, variance)
        seen[0] += 1
    return sweeps


@njit(cache=True, nogil=True)
def standard_scores(values, words, starts, posterior, noise, out):
    """z = (<mean, x> - bias) / sqrt(bias variance + variance of <w, x> + noise)."""
    mean, variance, bias_mean, bias_variance = posterior
    classes = mean.shape[1]
    m, v = np.empty(classes, mean.dtype), np.empty(classes, mean.dtype)
    for i in range(out.shape[0]):
        row = slice(starts[i], starts[i + 1])
        score_row(values[row], words[row], mean, variance, 0, m, v)
        for c in range(classes):
            out[i, c] = (m[c] - bias_mean[c]) / math.sqrt(bias_variance[c] + v[c] + noise)
