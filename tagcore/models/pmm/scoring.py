"""Scores and best tags of rows: a fitted PMM's arrays as its kernels take them."""

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

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
from tagcore.models.pmm.tables import KernelTables, settings_of
from tagcore.numeric.read_only import frozen_rows
from tagcore.scikit import normalize

if TYPE_CHECKING:
    from tagcore.models.pmm.estimator import PMM

_kernel_tables: WeakKeyDictionary["PMM", KernelTables] = WeakKeyDictionary()


def all_scores(model: "PMM", X: sp.csr_matrix) -> np.ndarray:
    """Scores of all tags of every row."""
    if model.scoring == "rerank":
        scores, voters = np.zeros((X.shape[0], model.n_labels_)), np.empty(X.shape[0], np.int64)
        rerank_score_rows(*frozen_rows(X, np.float64), *_tables(model).search, scores, voters)
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
    rows, tables = frozen_rows(X, np.float64), _tables(model)
    if model.scoring == "rerank":
        voters = np.empty(X.shape[0], np.int64)
        if rerank_rows(*rows, *tables.search, tags, scores, voters):  # some without a vote
            tags[voters == 0], scores[voters == 0] = best_k(model.popular_[None], k)
        return tags, scores
    if model.scoring == "soft":
        share_rows(*rows, tables.mixture, _sharing(model), model.n_labels_, tags, scores)
        return tags, scores
    ranked_rows(*rows, tables.mixture, tables.ranked, tags, scores)
    if (tags[:, -1] < 0).any():  # more were asked for than classes rank
        return None
    return tags, scores


def log_posterior(model: "PMM", X: sp.csr_matrix) -> np.ndarray:
    """ln P(class | document), rows × classes."""
    posterior = np.empty((X.shape[0], model.n_classes_))
    posterior_rows(*frozen_rows(X, np.float64), _tables(model).mixture, posterior)
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
    if tables is None or tables.rates is not model.rates_ or tables.settings != settings_of(model):
        tables = _kernel_tables[model] = KernelTables.of(model)
    return tables


def _sharing(model: "PMM") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return model.class_tag_starts_, model.class_tag_ids_, model.class_tag_shares_
