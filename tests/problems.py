"""Small problems with known answers, real ones from the readers, and the matrices that hypothesis makes up."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagcore.corpus import DocumentSource, csr_from_lists, tag_matrix
from tagcore.features.build import VECTORISER
from tagcore.features.corpus_reader import document_texts
from tagcore.readers import open_source
from tagcore.store.datasets import Dataset
from tagcore.tag_model import TagModel
from tagcore.text import Vectoriser

TOPICS = 6


def obvious(n: int = 120, seed: int = 0) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """documents of one topic each: words 4t to 4t + 3 and the tag t belong to topic t alone."""
    rng = np.random.default_rng(seed)
    topics = np.arange(n) % TOPICS
    X, Y = np.zeros((n, 4 * TOPICS)), np.zeros((n, TOPICS))
    for i, topic in enumerate(topics):
        X[i, 4 * topic : 4 * topic + 4] = rng.integers(1, 5, 4)
        Y[i, topic] = rng.integers(1, 4)
    return sp.csr_matrix(X), sp.csr_matrix(Y)


def noisy(n: int = 150, words: int = 40, tags: int = 20, seed: int = 0) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """words and tags without a pattern; some rows have no word, some no tag, the last tag is never used."""
    rng = np.random.default_rng(seed)
    X, Y = rng.poisson(0.2, (n, words)).astype(float), rng.poisson(0.15, (n, tags)).astype(float)
    X[::17], Y[::13], Y[:, -1] = 0.0, 0.0, 0.0
    return sp.csr_matrix(X), sp.csr_matrix(Y)


def nearly_linear(n: int = 2500, words: int = 80, tags: int = 5) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """more documents than a machine starts with, and tags that words nearly tell, each rarer than the one before."""
    rng = np.random.default_rng(5)
    X = rng.poisson(0.15, (n, words)).astype(float)
    Y = X @ rng.normal(size=(words, tags)) + rng.normal(size=(n, tags)) > np.linspace(1.0, 5.0, tags)
    return sp.csr_matrix(X), sp.csr_matrix(Y.astype(float))


@st.composite
def problems(draw: st.DrawFn) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """small counts with many ties, empty rows, empty columns."""
    n, words, tags = draw(st.integers(1, 12)), draw(st.integers(1, 8)), draw(st.integers(1, 6))
    X = draw(hnp.arrays(np.float64, (n, words), elements=st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, -1.0])))
    Y = draw(hnp.arrays(np.float64, (n, tags), elements=st.sampled_from([0.0, 0.0, 1.0, 3.0])))
    return sp.csr_matrix(X), sp.csr_matrix(Y)


def official_split(folder: Path) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]:
    """(X, Y) to learn from, then (X, Y) to measure on, of a known data set of counted words."""
    X, Y, train = matrices(open_source(folder))
    return X[train], Y[train], X[~train], Y[~train]


def matrices(source: DocumentSource) -> tuple[sp.csr_matrix, sp.csr_matrix, np.ndarray]:
    """All of a source as (X, Y, which rows are to learn from); words are weighed by tf-idf where it has texts."""
    blocks = list(source.blocks())
    if blocks[0].words is None:
        texts = [text for block in blocks for text in document_texts(block.documents).to_pylist()]
        X = Vectoriser(sublinear_tf=True).fit(texts).transform(texts)
    else:
        X = sp.vstack([block.words for block in blocks], format="csr")
    taggings = [tag_matrix(block.taggings, block.documents.num_rows, len(source.tags), 0) for block in blocks]
    train = np.concatenate([block.documents["split"].to_numpy(zero_copy_only=False) == "train" for block in blocks])
    return X, sp.vstack(taggings, format="csr"), train


def precision(Y: sp.csr_matrix, tags: np.ndarray, k: int) -> float:
    rows = np.repeat(np.arange(len(tags)), k)
    return float(np.mean(np.asarray(Y[rows, tags[:, :k].ravel()]) > 0))


def weights_of(model: TagModel) -> np.ndarray:
    """the sparse weights of a one-vs-rest model, words × tags."""
    shape = (model.n_features_in_, model.n_labels_)
    return sp.csr_matrix((model.coef_data_, model.coef_indices_, model.coef_indptr_), shape=shape).toarray()


def stored_side(features: Dataset, side: str) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """All rows of one side of a features data set as (X, Y), read column by column from its table."""
    table = features.read(side, ["words", "values", "tags", "counts"])
    n_words = len(Vectoriser.load(features.folder / VECTORISER).idf_)
    X = csr_from_lists(table["words"], table["values"], n_words)
    return X, csr_from_lists(table["tags"], table["counts"], features.counts["tags"])
