"""How well scores rank the pairs of each document."""

import numpy as np
import scipy.sparse as sp

from tagcore.models.blend.pairs import Pairs


def ndcg_of_pairs(scores: np.ndarray, pairs: Pairs, Y: sp.csr_matrix, k: int) -> np.ndarray:
    """nDCG@k of every document that has pairs, its k best by score, ties to the lower tag; 0 where it has no tag."""
    order = np.lexsort((pairs.tags, -scores, pairs.rows))
    documents, first, of_pair = np.unique(pairs.rows[order], return_index=True, return_inverse=True)
    place = np.arange(order.size) - first[of_pair]
    discount = 1.0 / np.log2(place + 2.0)
    gain = np.bincount(of_pair, discount * pairs.hits[order] * (place < k), documents.size)
    n_true = np.diff(Y.indptr)[documents]
    ideal = np.cumsum(1.0 / np.log2(np.arange(2, k + 2)))[np.clip(n_true, 1, k) - 1]
    return gain / ideal
