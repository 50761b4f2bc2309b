"""From rows of counts to the tables of a PMM: topics of the graph, ranks of tags, the mixture of every topic."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import Rows, load_all
from tagcore.graph.bipartite import bipartite_graph
from tagcore.graph.clusters import Clusters, cut_into_clusters
from tagcore.graph.node_ranks import node_ranks, tag_shares
from tagcore.models.pmm.mixture import (
    MixtureLearner,
    MixtureSettings,
    class_shards,
    learnt_classes,
    narrowest,
    share_components,
)
from tagcore.shards import Arrays
from tagcore.training import FitContext, train

DOCUMENTS_PER_CLASS = 40  # where the number of classes is left open
SEARCHED_PER_CLASS = 200  # the same where neighbours are searched in classes: small ones are more work than they save
MOST_CLASSES = 300


def number_of_classes(n_classes: int | None, scoring: str, n_documents: int) -> int:
    """Gives the number that was asked for, or one class to so many documents as `scoring` wants, at most 300."""
    size = SEARCHED_PER_CLASS if scoring == "rerank" else DOCUMENTS_PER_CLASS
    return n_classes or int(np.clip(n_documents // size, 1, MOST_CLASSES))


def find_topics(model: Any, X: sp.csr_matrix, Y: sp.csr_matrix, seed: int) -> Clusters:
    """Cuts the graph of documents, words and tags; of `model` only the parameters are read."""
    if not (Y.nnz and model.graph != "words") and not (X.nnz and model.graph != "tags"):  # nothing to cut by
        nowhere = np.zeros(Y.shape[1], np.int64), np.zeros(X.shape[1], np.int64)
        return Clusters(np.zeros(X.shape[0], np.int64), *nowhere, [], 1)
    graph = bipartite_graph(Y, X, model.graph)
    wanted = number_of_classes(model.n_classes, model.scoring, X.shape[0])
    return cut_into_clusters(graph, wanted, choose=model.choose, seed=seed)


def learn_mixture(
    model: Any, rows: Rows, topics: Clusters, mean_length: float, seed: int, context: FitContext
) -> Arrays:
    """Runs EM on all classes and gives shares, rates, masses and word clusters, class after class."""
    sizes = np.bincount(topics.documents[topics.documents >= 0], minlength=topics.n_clusters)
    components = share_components(sizes, max(model.n_components or topics.n_clusters * 4 // 3, topics.n_clusters))
    settings = MixtureSettings(
        n_word_clusters=model.n_word_clusters, length=model.length, mean_length=mean_length, tol=model.tol, seed=seed
    )
    shards = class_shards(rows, topics.documents, components, model.n_shards, context.executor)
    train(
        MixtureLearner(settings),
        shards,
        max_rounds=model.max_iter,
        progress=context.progress,
        checkpoints=context.checkpoints,
    )
    learnt = shards.collect(learnt_classes)
    alive = np.concatenate([part["lives"] > 0 for part in learnt])
    owners = np.repeat(np.arange(components.size), components)[alive]
    starts = np.searchsorted(owners, np.arange(components.size + 1))
    narrow = narrowest(model.n_word_clusters)
    return {
        "rates": np.concatenate([part["rates"] for part in learnt])[alive],
        "shares": np.concatenate([part["shares"] for part in learnt])[alive],
        "mass": np.concatenate([part["mass"] for part in learnt])[alive],
        "word_clusters": np.concatenate([part["word_clusters"] for part in learnt], axis=1).astype(narrow),
        "class_starts": starts.astype(np.int64),
    }


def log_ranks(model: Any, Y: sp.csr_matrix, topics: Clusters) -> np.ndarray:
    """Gives ln Rank of every tag in its own class."""
    ranks = node_ranks(Y, topics.documents, topics.tags, topics.n_clusters, delta=model.delta, scale=model.rank_scale)
    return ranks.log_rank


def class_tags(model: Any, Y: sp.csr_matrix, topics: Clusters) -> sp.csr_matrix:
    """Gives f(tag | class)."""
    return tag_shares(Y, topics.documents, topics.n_clusters, model.mu)


def rows_and_tags(rows: Rows) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Loads the counts and taggings of all rows; ValueError names a weight that is no count."""
    X, Y = load_all(rows)
    if X.nnz and X.data.min() < 0:
        raise ValueError(
            f"Negative values in data passed to PMM: X holds {X.data.min()}, expected counts of words (in a recipe, "
            "features with use_idf = false and norm = none)"
        )
    return sp.csr_matrix(X, dtype=np.float64), Y
