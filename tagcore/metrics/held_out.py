"""Measures any stored tagger on the held-out documents of any features: what a champion is compared by.

The tagger brings its own vocabulary and tags; documents are read again from the corpus and tags matched by name.
"""

import numpy as np

from tagcore.corpus import Names
from tagcore.features.corpus_reader import CorpusReader
from tagcore.features.split import Split
from tagcore.metrics.catalogue import champion_measure
from tagcore.metrics.ranking import mark_hits
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger


def held_out_values(tagger: Tagger, corpus: Dataset, features: Dataset, full_name: str) -> np.ndarray:
    """Computes the measure of every held-out document, in the order of the features' test rows."""
    measure, k = champion_measure(full_name, "documents")
    assert k is not None  # all of them are at a k
    tags = Names(features.names("tags"))
    kept = np.flatnonzero(
        [tags.find(tag) is not None for tag in corpus.names("tags")]
    )  # a split may leave out rare ones
    ids = np.array([tags.id(tag) for tag in tagger.tag_names])  # tags that are new here stand after all others
    word_columns = tagger.word_columns(Names(corpus.names("words"))) if corpus.has("bags") else None
    values = []
    split = Split(**features.manifest["parameters"]["split"])
    for group in CorpusReader(corpus, split, fields=tagger.vectoriser.field_names):
        rows = np.flatnonzero(group.held_out & group.used)
        if not rows.size:
            continue
        if group.bags is not None:
            words = tagger.vectoriser.transform_counts(group.bags[rows] @ word_columns)
        else:
            words = tagger.vectoriser.transform(group.texts.take(rows))
        top, _ = tagger.top_k(words, k)
        truth = group.tags[rows][:, kept]
        truth.resize(rows.size, len(tags))
        values.append(np.asarray(measure.compute(mark_hits(truth, ids[top]).padded(k), k)))
    return np.concatenate(values)
