"""XᵀX of sparse rows."""

from numba import njit


@njit(cache=True, nogil=True)
def lower_gram(data, indices, indptr, word_data, documents, word_starts, out):
    """The lower triangle of XᵀX into `out`, from X as CSR with its words in order and as CSC."""
    for word in range(word_starts.size - 1):
        row = out[word]
        row[: word + 1] = 0.0
        for q in range(word_starts[word], word_starts[word + 1]):
            value, i = word_data[q], documents[q]
            for p in range(indptr[i], indptr[i + 1]):
                if indices[p] > word:
                    break
                row[indices[p]] += value * data[p]
