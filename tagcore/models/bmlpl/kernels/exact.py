"""Weighted Gram matrices of sparse rows, a few topics at a time: the exact M-step of BMLPL."""

from numba import njit


@njit(cache=True, nogil=True)
def add_grams(data, indices, indptr, omega, grams):
    """Adds Σ omega[i, k] x_i x_i' to the lower triangle of grams[:, :, k]; words of a row are in order."""
    for i in range(omega.shape[0]):
        weights = omega[i]
        for a in range(indptr[i], indptr[i + 1]):
            for b in range(indptr[i], a + 1):
                x = float(data[a]) * float(data[b])
                to = grams[indices[a], indices[b]]
                for k in range(weights.size):
                    to[k] += x * weights[k]
