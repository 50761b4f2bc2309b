"""Term counts of texts given as sequences of term ids, and their tf-idf weights. Negative ids are no terms."""

import numpy as np
from numba import njit

_ONE = np.uint64(1)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # every 6 bits in a row are different
_BIT_OF_PRODUCT = np.argsort([((int(_DE_BRUIJN) << bit) & (2**64 - 1)) >> 58 for bit in range(64)])


@njit(cache=True, nogil=True)
def relabel(ids, labels):
    """labels[id] of every id; negative ids stay."""
    out = np.empty(ids.size, np.int32)
    for i in range(ids.size):
        out[i] = labels[ids[i]] if ids[i] >= 0 else ids[i]
    return out


@njit(cache=True, nogil=True)
def drop(ids, indptr, mark):
    """The sequences without the ids that equal `mark`."""
    kept = np.empty(ids.size, np.int32)
    bounds = np.zeros(indptr.size, np.int64)
    n = 0
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            if ids[p] != mark:
                kept[n] = ids[p]
                n += 1
        bounds[i + 1] = n
    return kept[:n].copy(), bounds


@njit(cache=True, nogil=True)
def place(ids, indptr, ends, out):
    """Copies every sequence into `out`, so that it ends where `ends` says."""
    for i in range(indptr.size - 1):
        shift = ends[i] - indptr[i + 1]
        for p in range(indptr[i], indptr[i + 1]):
            out[p + shift] = ids[p]


@njit(cache=True, nogil=True)
def tally(ids, indptr, first, df, tf, seen):
    """Adds texts to document and term frequencies; `seen[id]` is the last text with it, `first` this block's first."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            term = ids[p]
            if term >= 0:
                tf[term] += 1
                if seen[term] != first + i:
                    seen[term] = first + i
                    df[term] += 1


@njit(cache=True, nogil=True)
def _lowest_bit(word):
    """Number of the lowest bit that is set, by a de Bruijn sequence."""
    return _BIT_OF_PRODUCT[((word & (~word + _ONE)) * _DE_BRUIJN) >> np.uint64(58)]


@njit(cache=True, nogil=True)
def count(ids, indptr, ends, field_weights, n_terms, binary):
    """(values, indices, indptr) of CSR rows with sorted indices: how often, or whether, a text holds a term.

    Field f of text i ends at ends[i, f], where the next begins; a term counts field_weights[f] each time, or once the
    largest of these if `binary`.

    The terms of a text are set in a bitmap of two levels and read back in order: no row is sorted.
    """
    rows = indptr.size - 1
    leaves = np.zeros((n_terms >> 6) + 1, np.uint64)  # one bit per term
    nodes = np.zeros((leaves.size >> 6) + 1, np.uint64)  # one bit per leaf that is not 0
    tf = np.empty(n_terms, np.float64)  # valid where the bit is set
    values = np.empty(ids.size, np.float64)
    indices = np.empty(ids.size, np.int32)
    bounds = np.zeros(rows + 1, np.int64)
    n = 0
    for i in range(rows):
        begin = indptr[i]
        for f in range(field_weights.size):
            weight = field_weights[f]
            for p in range(begin, ends[i, f]):
                term = np.int64(ids[p])
                if term < 0:
                    continue
                leaf = term >> 6
                bit = _ONE << np.uint64(term & 63)
                if leaves[leaf] & bit == 0:
                    leaves[leaf] |= bit
                    nodes[leaf >> 6] |= _ONE << np.uint64(leaf & 63)
                    tf[term] = weight
                elif not binary:
                    tf[term] += weight
                elif tf[term] < weight:
                    tf[term] = weight
            begin = ends[i, f]
        for node in range(nodes.size):
            set_leaves = nodes[node]
            nodes[node] = 0
            while set_leaves != 0:
                leaf = (node << 6) + _lowest_bit(set_leaves)
                set_leaves &= set_leaves - _ONE
                set_terms = leaves[leaf]
                leaves[leaf] = 0
                while set_terms != 0:
                    term = (leaf << 6) + _lowest_bit(set_terms)
                    set_terms &= set_terms - _ONE
                    indices[n] = term
                    values[n] = tf[term]
                    n += 1
        bounds[i + 1] = n
    return values[:n].copy(), indices[:n].copy(), bounds


@njit(cache=True, nogil=True)
def weigh(tf, indices, indptr, idf, sublinear, norm):
    """tf · idf, or (1 + ln tf) · idf, by row divided by its l1 (norm 1) or l2 (2) norm, or by nothing (0)."""
    out = np.empty(tf.size, idf.dtype)
    for i in range(indptr.size - 1):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            weight = tf[p]
            if sublinear:
                weight = 1.0 + np.log(weight)
            weight *= idf[indices[p]]
            out[p] = weight
            total += abs(weight) if norm == 1 else weight * weight
        if norm != 0 and total > 0:
            scale = total if norm == 1 else np.sqrt(total)
            for p in range(indptr[i], indptr[i + 1]):
                out[p] /= scale
    return out
