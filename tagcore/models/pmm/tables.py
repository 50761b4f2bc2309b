"""What the online stage of PMM reads beside the mixture: documents by class, tags by rank, tags that words go with."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.models.pmm.score_kernel import UNRANKED
from tagcore.numeric.normalise import normalise_rows
from tagcore.numeric.read_only import freeze

Mixture = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, float]


@dataclass(frozen=True, eq=False)
class KernelTables:
    """Arguments of kernels, made of the arrays and settings of a model once for all questions."""

    rates: np.ndarray  # of the model that they were made of
    settings: tuple[Any, ...]
    mixture: Mixture
    search: tuple[Mixture, tuple[Any, ...], int, float]  # (index, tagging, idf, classes), neighbours, power of a vote
    ranked: tuple[np.ndarray, np.ndarray, np.ndarray]

    @classmethod
    def of(cls, model: Any) -> "KernelTables":
        """Spreads rates over words, and ranks the tags of every class."""
        mixture = freeze(_mixture(model))
        return cls(
            model.rates_,
            settings_of(model),
            mixture,
            (mixture, *freeze(_search(model))),
            ranked_tags(model.tag_classes_, model.log_ranks_, model.n_classes_),
        )


def settings_of(model: Any) -> tuple[Any, ...]:
    """Gives the parameters that may be set after learning and that kernels read."""
    return model.prior, model.length, model.temper, model.n_searched, model.n_neighbors, model.power


def _mixture(model: Any) -> Mixture:
    owners = np.repeat(np.arange(model.n_classes_), np.diff(model.class_starts_))
    logs = np.log(model.rates_).astype(np.float32)
    table = np.empty((model.n_features_in_, owners.size), np.float32)  # words × components
    for m, k in enumerate(owners):
        table[:, m] = logs[m, model.word_clusters_[:, k]]
    table[model.used_words_ == 0] = 0.0
    prior = model.class_sizes_ if model.prior == "empirical" else np.ones(model.n_classes_)
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior / max(prior.sum(), 1))
    scale = 1.0 / model.mean_length_ if model.length == "exposure" else 0.0
    log_shares = np.log(model.component_shares_)
    return table, log_shares, model.mass_, model.class_starts_, log_prior, scale, float(model.temper)


def _search(model: Any) -> tuple[tuple[Any, ...], int, float]:
    documents = np.concatenate(([0], np.cumsum(model.class_sizes_))).astype(np.int64)  # where those of a class begin
    index = (
        documents,
        model.entry_starts_,
        model.entry_classes_,
        model.posting_starts_,
        model.posting_rows_,
        model.posting_weights_,
    )
    tagging = model.row_tag_starts_, model.row_tag_ids_, np.ones(model.row_tag_ids_.size, np.float32)
    where = index, tagging, model.idf_, min(model.n_searched, model.n_classes_)
    return where, model.n_neighbors, float(model.power)


class DocumentIndex(NamedTuple):
    """Documents of unit length, grouped by class, by word and class: what neighbours are looked up in."""

    entry_starts: np.ndarray  # of each word
    entry_classes: np.ndarray
    posting_starts: np.ndarray  # of each entry
    rows: np.ndarray
    weights: np.ndarray
    tag_starts: np.ndarray  # of each document
    tag_ids: np.ndarray


def document_index(
    X: sp.csr_matrix, Y: sp.csr_matrix, labels: np.ndarray, idf: np.ndarray, wanted: bool
) -> DocumentIndex:
    """Indexes rows of (1 + ln count) · idf; without any document where it is not wanted."""
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0][: None if wanted else 0]
    return index_of_postings(unit_rows(X[order], idf), Y[order], labels[order])


def unit_rows(X: sp.csr_matrix, idf: np.ndarray) -> sp.csr_matrix:
    """Gives rows of (1 + ln count) · idf, of length 1."""
    counts = sp.csr_matrix(X, dtype=np.float64)
    counts.eliminate_zeros()
    counts.data = (1.0 + np.log(counts.data)) * idf[counts.indices]
    return normalise_rows(counts, counts.shape[0] > 0)


def index_of_postings(rows: sp.csr_matrix, tags: sp.csr_matrix, labels: np.ndarray) -> DocumentIndex:
    """Indexes rows of unit length that are grouped by class."""
    postings, n_words = rows.tocsc(), rows.shape[1]
    words = np.repeat(np.arange(n_words), np.diff(postings.indptr))
    classes = labels[postings.indices]
    first = np.ones(words.size, bool)
    first[1:] = (np.diff(words) != 0) | (np.diff(classes) != 0)
    starts = np.flatnonzero(first)
    return DocumentIndex(
        np.searchsorted(words[starts], np.arange(n_words + 1)).astype(np.int64),
        classes[starts].astype(np.int32),
        np.append(starts, words.size).astype(np.int64),
        postings.indices.astype(np.int32),
        postings.data.astype(np.float32),
        tags.indptr.astype(np.int64),
        tags.indices.astype(np.int32),
    )


def ranked_tags(
    tag_classes: np.ndarray, log_ranks: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gives (starts, tags, ln Rank) of the ranked tags of every class, best first, ties to the lower tag."""
    ranked = np.flatnonzero((tag_classes < n_classes) & (log_ranks > UNRANKED))
    order = ranked[np.lexsort((ranked, -log_ranks[ranked], tag_classes[ranked]))]
    starts = np.searchsorted(tag_classes[order], np.arange(n_classes + 1))
    return starts.astype(np.int64), order.astype(np.int64), log_ranks[order]


def word_tag_table(X: sp.csr_matrix, Y: sp.csr_matrix, wanted: bool) -> sp.csr_matrix:
    """Gives n(word, tag) / (documents of the word + 1), words × tags; empty where not wanted."""
    if not wanted:
        return sp.csr_matrix((0, Y.shape[1]))
    present, tagged = (X > 0).astype(np.float64), (Y > 0).astype(np.float64)
    df = np.asarray(present.sum(axis=0)).ravel()
    return sp.csr_matrix(sp.diags(1.0 / (df + 1.0)) @ (present.T @ tagged))
