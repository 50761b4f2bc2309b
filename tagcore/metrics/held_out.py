"""Measures any stored tagger on the held-out documents of any features: what a champion is compared by.

The tagger brings its own vocabulary and tags; documents are read again from the corpus and tags matched by name.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from tagcore.corpus import Names, tag_columns
from tagcore.features.corpus_reader import CorpusReader
from tagcore.features.split import Split
from tagcore.metrics.catalogue import champion_measure
from tagcore.metrics.ranking import Hits, mark_hits
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger


@dataclass(frozen=True, eq=False)
class HeldOutSuggestions:
    """The first k suggestions of a tagger for every held-out document, in the order of the features' test rows."""

    documents: np.ndarray  # their numbers in the corpus
    truth: sp.csr_matrix  # documents × tags
    top: np.ndarray  # numbers of tags, best first; those above all tags of the features are unknown there
    known: np.ndarray  # of every tag of the features, whether the tagger knows it

    @cached_property
    def hits(self) -> Hits:
        """Which suggestions are right."""
        return mark_hits(self.truth, self.top)

    def values(self, full_name: str) -> np.ndarray:
        """The measure of every document."""
        measure, k = champion_measure(full_name, "documents")
        assert k is not None  # all of them are at a k
        return np.asarray(measure.compute(self.hits.padded(k), k))

    def found(self) -> sp.csr_matrix:
        """The true tags that are among the suggestions: documents × tags of ones."""
        rows, places = np.nonzero(self.hits.right)
        ones = np.ones(rows.size, np.int64)
        return sp.csr_matrix((ones, (rows, self.top[rows, places])), shape=self.truth.shape)

    def suggested(self) -> np.ndarray:
        """How often every tag of the features was suggested, rightly or not."""
        return np.bincount(self.top.ravel(), minlength=self.truth.shape[1])[: self.truth.shape[1]]


def held_out_suggestions(tagger: Tagger, corpus: Dataset, features: Dataset, k: int) -> HeldOutSuggestions:
    """Asks the tagger for the first k tags of every held-out document."""
    tags = Names(features.names("tags"))
    n_tags = len(tags)
    columns = tag_columns(corpus.names("tags"), tags)
    ids = np.array([tags.id(tag) for tag in tagger.tag_names])  # tags that are new here stand after all others
    word_columns = tagger.word_columns(Names(corpus.names("words"))) if corpus.has("bags") else None
    documents, truths, tops = [], [], []
    for group in CorpusReader(corpus, Split(**features.manifest["parameters"]["split"])):
        rows = np.flatnonzero(group.held_out & group.used)
        if not rows.size:
            continue
        if group.bags is not None:
            words = tagger.vectoriser.transform_counts(group.bags[rows] @ word_columns)
        else:
            words = tagger.vectoriser.transform(group.texts.take(rows))
        top, _ = tagger.top_k(words, k)
        truth = group.tags[rows] @ columns
        truth.resize(rows.size, len(tags))
        truth.sort_indices()
        documents.append(group.first + rows)
        truths.append(truth)
        tops.append(ids[top])
    known = np.zeros(n_tags, np.bool_)
    known[ids[ids < n_tags]] = True
    return HeldOutSuggestions(np.concatenate(documents), sp.vstack(truths, "csr"), np.concatenate(tops), known)


def held_out_values(tagger: Tagger, corpus: Dataset, features: Dataset, full_name: str) -> np.ndarray:
    """Computes the measure of every held-out document, in the order of the features' test rows."""
    k = champion_measure(full_name, "documents")[1]
    assert k is not None  # all of them are at a k
    return held_out_suggestions(tagger, corpus, features, k).values(full_name)
