"""A night's new documents: what a fitted PMM adds up of them, and where words and tags that are new find room.

Classes stay as the last full fit cut them. A document joins its most probable class; its words are added to the sums of
the class, of which rates, shares and word clusters are fitted anew. Weights of words in the index (idf) and the mean
length are those of the full fit.
"""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tagcore.base import block_rows, require_array, require_lists
from tagcore.graph.node_ranks import cluster_counts, node_ranks, tag_shares
from tagcore.models.pmm.kernel import maximise
from tagcore.models.pmm.learning import idf_of, require_counts
from tagcore.models.pmm.mixture import ClassRows, MixtureSettings, expected_sums, exposures, used_words
from tagcore.models.pmm.score_kernel import UNRANKED
from tagcore.models.pmm.tables import index_of_postings, unit_rows
from tagcore.parameters import MOST_IDS
from tagcore.shards import Arrays

if TYPE_CHECKING:
    from tagcore.models.pmm.estimator import PMM

STATISTICS = (
    "component_weights_",  # R, documents of every component
    "component_exposures_",  # N, their exposure
    "word_count_starts_",  # S, components × words, CSR; components of a class have the same words
    "word_count_ids_",
    "word_counts_",
    "unseen_clusters_",  # of the words that a class has not
    "class_tagging_starts_",  # taggings, classes × tags, CSR
    "class_tagging_ids_",
    "class_taggings_",
    "taggings_",  # of every tag
    "word_documents_",
)


def keep_statistics(model: "PMM", learnt: Arrays, counts: sp.csr_matrix, seen: Arrays, n_documents: int) -> None:
    """Keeps the sums that a fit ends with."""
    model.component_weights_, model.component_exposures_ = learnt["weights"], learnt["exposures"]
    model.unseen_clusters_ = learnt["unseen"]
    _keep_counts(model, learnt["counts"], counts)
    model.taggings_, model.word_documents_ = seen["taggings"], seen["word_documents"].astype(np.int64)
    model.n_documents_ = n_documents


def _keep_counts(model: "PMM", words: sp.csr_matrix, tags: sp.csr_matrix) -> None:
    model.word_count_starts_, model.word_count_ids_ = words.indptr.astype(np.int64), words.indices.astype(np.int32)
    model.class_tagging_starts_, model.class_tagging_ids_ = tags.indptr.astype(np.int64), tags.indices.astype(np.int32)
    model.word_counts_, model.class_taggings_ = words.data.astype(np.float64), tags.data.astype(np.float64)


def word_counts(model: "PMM") -> sp.csr_matrix:
    """Gives S, components × words."""
    shape = (model.component_weights_.size, model.idf_.size)
    return sp.csr_matrix((model.word_counts_, model.word_count_ids_, model.word_count_starts_), shape=shape)


def class_taggings(model: "PMM") -> sp.csr_matrix:
    """Gives the taggings of every class, classes × tags."""
    shape = (model.n_classes_, model.taggings_.size)
    return sp.csr_matrix((model.class_taggings_, model.class_tagging_ids_, model.class_tagging_starts_), shape=shape)


def check_statistics(model: "PMM", p: int, n: int) -> None:
    """Raises ValueError where a sum does not fit the model."""
    components, classes = model.component_shares_.size, model.n_classes_
    if not isinstance(model.n_documents_, int) or not 0 <= model.n_documents_ <= MOST_IDS:
        raise ValueError(f"n_documents_ must be a number of documents, got {model.n_documents_!r}")
    require_array(model.component_weights_, (components,), np.float64, "component_weights_", 0)
    require_array(model.component_exposures_, (components,), np.float64, "component_exposures_", 0)
    require_lists(model.word_count_starts_, model.word_count_ids_, components, p, "the words of components")
    require_array(model.word_counts_, model.word_count_ids_.shape, np.float64, "word_counts_", 0)
    narrow, most = model.word_clusters_.dtype, model.n_word_clusters - 1
    require_array(model.unseen_clusters_, (classes,), narrow, "unseen_clusters_", 0, most)
    require_lists(model.class_tagging_starts_, model.class_tagging_ids_, classes, n, "the taggings of classes")
    require_array(model.class_taggings_, model.class_tagging_ids_.shape, np.float64, "class_taggings_", 0)
    require_array(model.taggings_, (n,), np.float64, "taggings_", 0)
    require_array(model.word_documents_, (p,), np.int64, "word_documents_", 0, MOST_IDS)
    first, sizes = model.class_starts_[:-1], np.diff(model.word_count_starts_)
    if (sizes != np.repeat(sizes[first], np.diff(model.class_starts_))).any():
        raise ValueError("components of one class must have counts of the same words")


def grow(model: "PMM", words: int, tags: int) -> None:
    """Makes room for words and tags that were appended: no class has seen them."""
    new_words, new_tags = model._new_words_and_tags(words, tags)
    owners = np.repeat(np.arange(model.n_classes_), np.diff(model.class_starts_))
    unseen = model.rates_[np.arange(owners.size), model.unseen_clusters_[owners]]
    joins = model.n_words is None  # words that were never weighed against others are not selected
    model.used_words_ = np.pad(model.used_words_, (0, new_words), constant_values=joins)
    model.mass_ = model.mass_ + (new_words if joins else 0) * unseen
    model.word_clusters_ = np.vstack([model.word_clusters_, np.tile(model.unseen_clusters_, (new_words, 1))])
    model.word_documents_ = np.pad(model.word_documents_, (0, new_words))
    model.idf_ = np.append(model.idf_, idf_of(np.zeros(new_words), model.n_documents_))
    model.entry_starts_ = np.pad(model.entry_starts_, (0, new_words), mode="edge")
    if model.scoring == "mix":
        model.word_tag_starts_ = np.pad(model.word_tag_starts_, (0, new_words), mode="edge")
    model.taggings_, model.popular_ = np.pad(model.taggings_, (0, new_tags)), np.pad(model.popular_, (0, new_tags))
    model.tag_classes_ = np.pad(model.tag_classes_, (0, new_tags), constant_values=model.n_classes_)
    model.log_ranks_ = np.pad(model.log_ranks_, (0, new_tags), constant_values=UNRANKED)
    model.rates_ = model.rates_.copy()  # tables are made of it anew
    model.n_features_in_, model.n_labels_ = words, tags


def add_documents(model: "PMM", X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
    """Adds documents to the sums of their most probable classes, and fits rates, ranks and shares to the new sums."""
    require_counts(X)
    X = sp.csr_matrix(X, dtype=np.float64, copy=True)
    X.eliminate_zeros()
    classes = np.where(np.diff(X.indptr) > 0, model.class_posterior(X).argmax(axis=1), -1)
    if model.scoring == "mix":
        _add_word_tags(model, X, Y)
    if model.scoring == "rerank":
        _add_to_index(model, X, Y, classes)
    _add_words(model, X, classes)
    _add_tags(model, Y, classes)
    model.class_sizes_ = model.class_sizes_ + np.bincount(classes[classes >= 0], minlength=model.n_classes_)
    model.word_documents_ = model.word_documents_ + np.bincount(X.indices, minlength=X.shape[1])
    model.n_documents_ += X.shape[0]


def _add_words(model: "PMM", X: sp.csr_matrix, classes: np.ndarray) -> None:
    """One E-step of the new documents, one M-step of all sums."""
    settings = MixtureSettings(
        n_word_clusters=model.n_word_clusters, length=model.length, mean_length=model.mean_length_
    )
    before = word_counts(model)
    rows = _new_rows(model, before, X, classes)
    _, components, slots, blocks = rows.layout
    owners = np.repeat(np.arange(model.n_classes_), np.diff(slots))
    state = {
        "rates": model.rates_.copy(),
        "shares": model.component_shares_.copy(),
        "mass": model.mass_.copy(),
        "clusters": model.word_clusters_[rows.slot_words, owners].astype(np.int64),
    }
    nobody = np.full(rows.n_documents, -1, np.int64)
    (weights, exposed, counts), _ = expected_sums(rows, state, exposures(rows, settings), nobody)
    for k in range(model.n_classes_):
        own = before[components[k] : components[k + 1]][:, rows.slot_words[slots[k] : slots[k + 1]]]
        counts[blocks[k] : blocks[k + 1]] += own.toarray().T.ravel()
    sums = weights + model.component_weights_, exposed + model.component_exposures_, counts
    unseen = np.column_stack([rows.n_used - np.diff(slots), model.unseen_clusters_]).astype(np.int64)
    learnt = state["rates"], state["shares"], state["mass"]
    maximise(rows.layout, state["clusters"], unseen, sums, (settings.a, settings.b), settings.pseudo, *learnt)
    model.rates_, model.component_shares_, model.mass_ = learnt
    narrow = model.word_clusters_.dtype
    model.unseen_clusters_ = unseen[:, 1].astype(narrow)
    model.word_clusters_ = np.tile(model.unseen_clusters_, (rows.n_words, 1))
    model.word_clusters_[rows.slot_words, owners] = state["clusters"]
    model.component_weights_, model.component_exposures_ = sums[:2]
    _keep_counts(model, rows.component_counts(counts), class_taggings(model))


def _new_rows(model: "PMM", before: sp.csr_matrix, X: sp.csr_matrix, classes: np.ndarray) -> ClassRows:
    """Gives the documents that have a class, with slots for all words that their classes have seen till now."""
    order = np.argsort(classes, kind="stable")
    order = order[classes[order] >= 0]
    lengths, p = np.asarray(X[order].sum(axis=1)).ravel(), X.shape[1]
    rows = used_words(X[order], model.used_words_ > 0)
    firsts = before[model.class_starts_[:-1]]
    known = np.repeat(np.arange(model.n_classes_), np.diff(firsts.indptr)) * p + firsts.indices
    keys = np.repeat(classes[order], np.diff(rows.indptr)) * p + rows.indices
    seen = np.union1d(known, keys).astype(np.int64)
    numbers = np.arange(model.n_classes_ + 1)
    slots = np.searchsorted(seen, numbers * p).astype(np.int64)
    blocks = np.concatenate(([0], np.cumsum(np.diff(slots) * np.diff(model.class_starts_)))).astype(np.int64)
    documents = np.searchsorted(classes[order], numbers).astype(np.int64)
    layout = documents, model.class_starts_, slots, blocks
    places = np.searchsorted(seen, keys).astype(np.int64)
    n_used = int(model.used_words_.sum())
    return ClassRows(rows.data, places, rows.indptr.astype(np.int64), order, seen % p, layout, p, n_used, lengths)


def _add_tags(model: "PMM", Y: sp.csr_matrix, classes: np.ndarray) -> None:
    """Adds taggings up; a tag that had no class gets the one that has most of it."""
    counts = sp.csr_matrix(class_taggings(model) + cluster_counts(Y, classes, model.n_classes_))
    taggings, seen = np.asarray(Y.sum(axis=0)).ravel(), np.asarray((Y > 0).sum(axis=0)).ravel()
    model.taggings_ = model.taggings_ + taggings
    documents = np.rint(model.popular_ * model.n_documents_) + seen
    model.popular_ = documents / max(model.n_documents_ + Y.shape[0], 1)
    _keep_counts(model, word_counts(model), counts)
    keep_ranks(model, counts, np.where(model.tag_classes_ < model.n_classes_, model.tag_classes_, -1))


def keep_ranks(model: "PMM", counts: sp.csr_matrix, tags: np.ndarray) -> None:
    """Keeps classes, ranks and shares of tags, made of the taggings of every class. A tag without a class (-1), as all
    are where the graph has no tags, gets the one that has most of it."""
    tags = _with_class(tags, counts)
    ranks = node_ranks(counts, model.taggings_, tags, delta=model.delta, scale=model.rank_scale).log_rank
    model.tag_classes_ = np.where(tags < 0, model.n_classes_, tags).astype(np.int64)
    model.log_ranks_ = np.where(np.isfinite(ranks), np.maximum(ranks, UNRANKED), UNRANKED)
    shares = tag_shares(counts, model.taggings_, model.mu)
    model.class_tag_starts_, model.class_tag_ids_ = shares.indptr.astype(np.int64), shares.indices.astype(np.int32)
    model.class_tag_shares_ = shares.data.astype(np.float32)


def _with_class(tags: np.ndarray, counts: sp.csr_matrix) -> np.ndarray:
    """The classes of tags, those without one joining the class with most of their taggings, where there are any."""
    tags, step = tags.copy(), block_rows(counts.shape[0])
    fresh = np.flatnonzero((tags < 0) & (np.asarray(counts.sum(axis=0)).ravel() > 0))
    for start in range(0, fresh.size, step):
        some = fresh[start : start + step]
        tags[some] = np.asarray(counts[:, some].todense()).argmax(axis=0)
    return tags


def _add_to_index(model: "PMM", X: sp.csr_matrix, Y: sp.csr_matrix, classes: np.ndarray) -> None:
    """Puts new documents behind those of their class."""
    old = np.repeat(np.arange(model.n_classes_), model.class_sizes_)
    kept = np.flatnonzero(classes >= 0)
    labels = np.concatenate([old, classes[kept]])
    order = np.argsort(labels, kind="stable")
    entries = np.repeat(np.arange(model.idf_.size), np.diff(model.entry_starts_))
    words = np.repeat(entries, np.diff(model.posting_starts_))
    shape = (old.size, model.idf_.size)
    before = sp.csr_matrix((model.posting_weights_, (model.posting_rows_, words)), shape=shape)
    tags = sp.csr_matrix(
        (np.ones(model.row_tag_ids_.size), model.row_tag_ids_, model.row_tag_starts_), shape=(old.size, Y.shape[1])
    )
    rows = sp.vstack([before, unit_rows(X[kept], model.idf_)], format="csr")[order]
    index = index_of_postings(rows, sp.vstack([tags, Y[kept]], format="csr")[order], labels[order])
    model.entry_starts_, model.entry_classes_, model.posting_starts_ = index[:3]
    model.posting_rows_, model.posting_weights_, model.row_tag_starts_, model.row_tag_ids_ = index[3:]


def _add_word_tags(model: "PMM", X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
    """Counts words and tags that go together anew."""
    shape = (model.idf_.size, Y.shape[1])
    table = sp.csr_matrix((model.word_tag_weights_, model.word_tag_ids_, model.word_tag_starts_), shape=shape)
    before = sp.csr_matrix(sp.diags(model.word_documents_ + 1.0) @ table)
    before.data = np.rint(before.data)
    after = sp.csr_matrix(before + (X > 0).astype(np.float64).T @ (Y > 0).astype(np.float64))
    documents = model.word_documents_ + np.bincount(X.indices, minlength=X.shape[1])
    after = sp.csr_matrix(sp.diags(1.0 / (documents + 1.0)) @ after)
    model.word_tag_starts_, model.word_tag_ids_ = after.indptr.astype(np.int64), after.indices.astype(np.int32)
    model.word_tag_weights_ = after.data.astype(np.float32)
