"""Scores and best tags of rows: a fitted PMM's arrays as its kernels take them."""

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from tagcore.base import best_k
from tagcore.models.pmm.kernel import posterior_rows
from tagcore.models.pmm.score_kernel import (
    UNRANKED,
    ranked_rows,
    rerank_rows,
    rerank_score_rows,
    share_rows,
    share_score_rows,
)
from tagcore.models.pmm.tables import KernelTables

if TYPE_CHECKING:
    from tagcore.models.pmm.estimator import PMM

Mixture = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, float]

_kernel_tables: WeakKeyDictionary["PMM", KernelTables] = WeakKeyDictionary()


def all_scores(model: "PMM", X: sp.csr_matrix) -> np.ndarray:
    """Scores of all tags of every row."""
    if model.scoring == "rerank":
        scores, voters = np.zeros((X.shape[0], model.n_labels_)), np.empty(X.shape[0], np.int64)
        rerank_score_rows(*_kernel_rows(X), *_search_arguments(model), scores, voters)
        scores[voters == 0] = model.popular_
        return scores
    posterior = log_posterior(model, X)
    if model.scoring == "hard":
        known = model.tag_classes_ < model.n_classes_
        scores = np.full((X.shape[0], model.n_labels_), UNRANKED)
        scores[:, known] = posterior[:, model.tag_classes_[known]] + model.log_ranks_[known]
        return np.maximum(scores, UNRANKED)
    scores = np.zeros((X.shape[0], model.n_labels_))
    share_score_rows(posterior, _sharing(model), scores)
    if model.scoring == "mix":
        scores = (1 - model.beta) * scores + model.beta * _from_words(model, X)
    return scores


def best_tags_of_rows(model: "PMM", X: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The k best tags and their scores without those of all tags; None where it takes all of them."""
    if model.scoring == "mix":
        return None
    tags, scores = np.empty((X.shape[0], k), np.int64), np.empty((X.shape[0], k))
    if model.scoring == "rerank":
        voters = np.empty(X.shape[0], np.int64)
        rerank_rows(*_kernel_rows(X), *_search_arguments(model), tags, scores, voters)
        if not voters.all():
            tags[voters == 0], scores[voters == 0] = best_k(model.popular_[None], k)
        return tags, scores
    tables = _tables(model)
    mixture = _mixture(model, tables)
    if model.scoring == "soft":
        share_rows(*_kernel_rows(X), mixture, _sharing(model), model.n_labels_, tags, scores)
        return tags, scores
    ranked_rows(*_kernel_rows(X), mixture, tables.ranked, tags, scores)
    if (tags[:, -1] < 0).any():  # more were asked for than classes rank
        return None
    return tags, scores


def log_posterior(model: "PMM", X: sp.csr_matrix) -> np.ndarray:
    """ln P(class | document), rows × classes."""
    posterior = np.empty((X.shape[0], model.n_classes_))
    posterior_rows(*_kernel_rows(X), _mixture(model, _tables(model)), posterior)
    return posterior


def _from_words(model: "PMM", X: sp.csr_matrix) -> np.ndarray:
    """w(tag | document): the tags that its words were seen with, by tf-idf, together 1."""
    shape = (model.n_features_in_, model.n_labels_)
    table = sp.csr_matrix((model.word_tag_weights_, model.word_tag_ids_, model.word_tag_starts_), shape=shape)
    votes = np.asarray((X.multiply(model.idf_[None]).tocsr() @ table).todense())
    return np.asarray(normalize(votes, norm="l1"))


def _tables(model: "PMM") -> KernelTables:
    """What kernels read, made when it is first asked for: it is not kept on the model, which a question does not
    change."""
    tables = _kernel_tables.get(model)
    if tables is None or tables.made_of is not model.rates_ or tables.prior != model.prior:
        tables = _kernel_tables[model] = KernelTables.of(model)
    return tables


def _mixture(model: "PMM", tables: KernelTables) -> Mixture:
    scale = 1.0 / model.mean_length_ if model.length == "exposure" else 0.0
    return (
        tables.log_rates,
        tables.log_shares,
        model.mass_,
        model.class_starts_,
        tables.log_prior,
        scale,
        float(model.temper),
    )


def _sharing(model: "PMM") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return model.class_tag_starts_, model.class_tag_ids_, model.class_tag_shares_


def _search_arguments(model: "PMM") -> tuple[Mixture, tuple[Any, ...], int, float]:
    tables = _tables(model)
    index = (
        tables.documents,
        model.entry_starts_,
        model.entry_classes_,
        model.posting_starts_,
        model.posting_rows_,
        model.posting_weights_,
    )
    tagging = model.row_tag_starts_, model.row_tag_ids_, tables.ones
    search = index, tagging, model.idf_, min(model.n_searched, model.n_classes_)
    return _mixture(model, tables), search, model.n_neighbors, float(model.power)


def _kernel_rows(X: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return X.data.astype(np.float64, copy=False), X.indices, X.indptr
