"""From rows of counts to the tables of a PMM: topics of the graph, ranks of tags, the mixture of every topic."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import XY, Rows, shards_of
from tagcore.graph.clusters import LOCAL_EDGES, Clusters, CutLearner, clusters_of, column_scale, put_together
from tagcore.graph.low_rank import ThinFactors, thin_factors
from tagcore.graph.node_ranks import cluster_counts
from tagcore.models.pmm.mixture import (
    CLUSTER_IDS,
    MixtureLearner,
    MixtureSettings,
    class_shards,
    learnt_classes,
    share_components,
    statistics,
)
from tagcore.models.pmm.starts import COORDINATES, kmeans_components
from tagcore.progress import Progress
from tagcore.shards import Arrays, Executor, Shard, Shards
from tagcore.training import FitContext, train

DOCUMENTS_PER_CLASS = 40  # where the number of classes is left open
SEARCHED_PER_CLASS = 400  # the same where neighbours are searched in classes: small ones are more work than they save
MOST_CLASSES = 300
MOST_CELLS = 2**30  # of a table of words × classes that was asked for, or of components × word clusters


def number_of_classes(n_classes: int | None, scoring: str, n_documents: int) -> int:
    """Gives the number that was asked for, or one class to so many documents as `scoring` wants, at most 300."""
    size = SEARCHED_PER_CLASS if scoring == "rerank" else DOCUMENTS_PER_CLASS
    return n_classes or int(np.clip(n_documents // size, 1, MOST_CLASSES))


def require_room(model: Any, rows: Rows) -> None:
    """Raises ValueError where the classes or clusters that were asked for need tables beyond reason: there are no more
    classes than documents, and of components one a class and another to eight documents."""
    n, words = rows.n_rows, max(rows.n_features, 1)
    classes = min(number_of_classes(model.n_classes, model.scoring, n), max(n, 1))
    if model.n_classes is not None and classes * words > MOST_CELLS:
        most = max(MOST_CELLS // words, 1)
        raise ValueError(f"n_classes must be at most {most} for {words} words, got {model.n_classes}: select words")
    further = (model.n_components or classes * 4 // 3) - classes
    components = classes + min(max(further, 0), n // 8)
    if components * model.n_word_clusters > MOST_CELLS:
        most = max(MOST_CELLS // components, 1)
        given = f"{model.n_word_clusters}: ask for fewer classes or components"
        raise ValueError(f"n_word_clusters must be at most {most} for {components} components, got {given}")


def edge_shards(rows: Rows, n_shards: int, executor: Executor) -> Shards:
    """Cuts the documents into shards of their edges [Y | X], which all passes over the graph read."""
    return shards_of(rows, n_shards, _edges, executor)


def _edges(rows: XY) -> sp.csr_matrix:
    X, Y = rows
    require_counts(X)
    edges = sp.hstack([sp.csr_matrix(Y, dtype=np.float64), sp.csr_matrix(X, dtype=np.float64)], format="csr")
    edges.eliminate_zeros()
    return edges


def require_counts(X: sp.csr_matrix) -> None:
    """Raises ValueError where a weight is no count."""
    if X.nnz and X.data.min() < 0:
        raise ValueError(
            f"Negative values in data passed to PMM: X holds {X.data.min()}, expected counts of words (in a recipe, "
            "features with use_idf = false and norm = none)"
        )


def survey(shards: Shards, n_tags: int) -> Arrays:
    """Counts what a pass over all documents tells: words and documents that have any, documents of every word and
    tag, taggings of every tag."""
    return shards.sum(_survey_step, n_tags=n_tags)


def _survey_step(shard: Shard, state: Arrays, n_tags: int) -> Arrays:
    edges = shard.data
    is_word = edges.indices >= n_tags
    rows = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
    lengths = np.bincount(rows[is_word], edges.data[is_word], edges.shape[0])
    documents = np.bincount(edges.indices, minlength=edges.shape[1])
    taggings = np.bincount(edges.indices[~is_word], edges.data[~is_word], n_tags)
    return {
        "words": lengths.sum(),
        "worded": np.count_nonzero(lengths),
        "tag_documents": documents[:n_tags],
        "word_documents": documents[n_tags:],
        "taggings": taggings,
    }


def find_topics(
    model: Any, rows: Rows, shards: Shards, seed: int, context: FitContext
) -> tuple[Clusters, ThinFactors | None]:
    """Cuts the graph of documents, words and tags; of `model` only the parameters are read.

    Gives its leading singular triplets as well, where cuts or the start of the mixture want them.
    """
    scale = column_scale(shards, rows.n_labels, model.graph)
    if not scale.any():  # nothing to cut by
        nowhere = np.zeros(rows.n_labels, np.int64), np.zeros(rows.n_features, np.int64)
        return Clusters(np.zeros(rows.n_rows, np.int64), *nowhere, [], 1), None
    wanted = number_of_classes(model.n_classes, model.scoring, rows.n_rows)
    shards, thin = put_together(shards, LOCAL_EDGES), None
    if model.low_rank or model.start == "kmeans":
        thin = thin_factors(shards, scale, model.low_rank or COORDINATES, most_edges=LOCAL_EDGES, seed=seed)
    factors = thin if model.low_rank else None
    cuts = train(
        CutLearner(scale, wanted, choose=model.choose, seed=seed, local_edges=LOCAL_EDGES, factors=factors),
        shards,
        max_rounds=wanted - 1,
        progress=_part(context.progress, 0, wanted - 1 + model.max_iter),
        checkpoints=context.checkpoints and context.checkpoints.inside("cuts"),
    )
    return clusters_of(shards, cuts.arrays, scale, rows.n_labels), thin


def _part(progress: Progress, before: int, total: int) -> Progress:
    """Progress of a part of the work, told as progress of the whole."""
    return lambda done, _, measures: progress(before + done, total, measures)


def learn_mixture(
    model: Any,
    rows: Rows,
    topics: Clusters,
    thin: ThinFactors | None,
    used: np.ndarray,
    mean_length: float,
    seed: int,
    context: FitContext,
) -> dict[str, Any]:
    """Runs EM on all classes and gives shares, rates, masses, word clusters and sums, class after class."""
    sizes = np.bincount(topics.documents[topics.documents >= 0], minlength=topics.n_clusters)
    components = share_components(sizes, max(model.n_components or topics.n_clusters * 4 // 3, topics.n_clusters))
    settings = MixtureSettings(
        n_word_clusters=model.n_word_clusters, length=model.length, mean_length=mean_length, tol=model.tol, seed=seed
    )
    first = None
    if thin is not None and model.start == "kmeans":
        first = kmeans_components(thin.coordinates(), topics.documents, components, seed)
    cuts = number_of_classes(model.n_classes, model.scoring, rows.n_rows) - 1
    shards = class_shards(rows, topics.documents, components, model.n_shards, context.executor, used)
    train(
        MixtureLearner(settings, first),
        shards,
        max_rounds=model.max_iter,
        progress=_part(context.progress, cuts, cuts + model.max_iter),
        checkpoints=context.checkpoints and context.checkpoints.inside("mixture"),
    )
    learnt, sums = shards.collect(learnt_classes), shards.collect(statistics, settings=settings)
    alive = np.concatenate([part["lives"] > 0 for part in learnt])
    owners = np.repeat(np.arange(components.size), components)[alive]
    starts = np.searchsorted(owners, np.arange(components.size + 1))
    return {
        "rates": np.concatenate([part["rates"] for part in learnt])[alive],
        "shares": np.concatenate([part["shares"] for part in learnt])[alive],
        "mass": np.concatenate([part["mass"] for part in learnt])[alive],
        "word_clusters": np.concatenate([part["word_clusters"] for part in learnt], axis=1).astype(CLUSTER_IDS),
        "class_starts": starts.astype(np.int64),
        "weights": np.concatenate([part["weights"] for part in sums])[alive],
        "exposures": np.concatenate([part["exposures"] for part in sums])[alive],
        "unseen": np.concatenate([part["unseen"] for part in sums]).astype(CLUSTER_IDS),
        "counts": sp.vstack([part["counts"] for part in sums], format="csr")[alive],
    }


def class_taggings(shards: Shards, topics: Clusters) -> sp.csr_matrix:
    """Counts the taggings of every class, classes × tags."""
    shared = {"documents": topics.documents, "n_tags": topics.tags.size, "n_classes": topics.n_clusters}
    return shards.sum(_taggings_step, **shared)["counts"]


def _taggings_step(shard: Shard, state: Arrays, documents: np.ndarray, n_tags: int, n_classes: int) -> dict:
    own = documents[shard.first : shard.first + shard.data.shape[0]]
    return {"counts": cluster_counts(shard.data[:, :n_tags], own, n_classes)}


def words_to_use(shards: Shards, topics: Clusters, n_words: int | None) -> np.ndarray:
    """Marks the words that tell most about classes, of equals the first; all where no number is given."""
    from tagcore.text.selection import mutual_information_of_counts  # here: what is served does not learn

    p = topics.words.size
    if n_words is None or n_words >= p:
        return np.ones(p, bool)
    shared = {"documents": topics.documents, "n_tags": topics.tags.size, "n_classes": topics.n_clusters}
    counts = shards.sum(_presence_step, **shared)["counts"]
    sizes = np.bincount(topics.documents[topics.documents >= 0], minlength=topics.n_clusters)
    used = np.zeros(p, bool)
    used[np.argsort(-mutual_information_of_counts(counts, sizes), kind="stable")[:n_words]] = True
    return used


def _presence_step(shard: Shard, state: Arrays, documents: np.ndarray, n_tags: int, n_classes: int) -> dict:
    from tagcore.text.selection import class_counts

    own = documents[shard.first : shard.first + shard.data.shape[0]]
    return {"counts": class_counts(shard.data[own >= 0, n_tags:], own[own >= 0], n_classes)}


def idf_of(word_documents: np.ndarray, n_documents: int) -> np.ndarray:
    """Gives ln((1 + documents) / (1 + documents of the word)) + 1."""
    return (np.log((1.0 + n_documents) / (1.0 + word_documents)) + 1.0).astype(np.float32)
