"""Texts for rivals that read them: those of the documents that rows of features were made of."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tagcore.features.corpus_reader import document_texts
from tagcore.store.datasets import Dataset


def write_texts(corpus: Dataset, features: Dataset, folder: Path) -> None:
    """Writes train_texts.parquet and test_texts.parquet, a text to each row of features, in their order.

    A document of counted words is a text that has each as often, under a name that every tokeniser keeps.
    """
    counted = corpus.has("bags")
    texts = _words_as_texts(corpus) if counted else document_texts(corpus.read("documents", ["title", "text"]))
    for side in ("train", "test"):
        numbers = features.read(side, ["document"])["document"].combine_chunks()
        pq.write_table(pa.table({"text": texts.take(numbers)}), folder / f"{side}_texts.parquet")


def _words_as_texts(corpus: Dataset) -> pa.Array:
    bags = corpus.read("bags", ["words", "values"])
    words, values = (bags[name].combine_chunks() for name in bags.column_names)
    times = np.maximum(1, np.rint(values.values.to_numpy())).astype(np.int64)
    named = np.array([f"word{number}" for number in range(corpus.counts["words"])], object)
    every = np.repeat(named[words.values.to_numpy()], times)
    ends = np.concatenate([[0], np.cumsum(times)])[words.offsets.to_numpy()]
    return pa.array([" ".join(every[start:end]) for start, end in pairwise(ends)], pa.string())
