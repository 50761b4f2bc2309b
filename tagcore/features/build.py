"""From a stored corpus to rows that models learn from: two passes over its row groups, on any executor.

Pass 1 learns the vocabulary from the documents to learn from; pass 2 writes every document as one row of word
weights and tag counts, into `train` or `test`. Neither the driver nor a worker holds more than a few row groups.
Which words a document has: `tagcore/text/document_fields.py` (its fields), `tagcore/text/vectoriser.py` (their terms).
A column that is not a word, such as a length, belongs into the vectoriser, too: a model is stored with it and asked
through it; its setting into `tasks/feature_settings.py`.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.corpus import lists_from_csr, names_table
from tagcore.features.corpus_reader import CorpusReader, RowGroup
from tagcore.features.split import Split
from tagcore.progress import Progress, no_progress
from tagcore.shards import Executor, InProcess
from tagcore.store.datasets import Dataset, write_dataset
from tagcore.store.schemas import ROWS
from tagcore.store.storage import Storage
from tagcore.text import Vectoriser

VECTORISER = "vectoriser"

_LEARNING_SHARDS = 64  # at most: the driver puts the terms of so many together
_AHEAD = 16  # shards at work, or done and waiting for the driver, which writes as fast as two or three work


@dataclass(frozen=True)
class FeatureView:
    """The same terms weighed otherwise: counts beside tf-idf."""

    folder: Path
    vectoriser: Vectoriser  # whose parameters differ in `WEIGHTS` alone
    manifest: dict[str, Any] = field(default_factory=dict)


def make_features(
    corpus: Dataset,
    folder: Path,
    vectoriser: Vectoriser,
    split: Split,
    *,
    executor: Executor | None = None,
    storage: Storage | None = None,
    progress: Progress | None = None,
    views: Sequence["FeatureView"] = (),
    **manifest: Any,
) -> None:
    """Writes the features data set at `folder`; ValueError where nothing is left to learn from or to measure on.

    `storage` is where the executor's workers find a copy of the corpus' files, if not in its folder. The result is the
    same bits on every executor. `views` are written beside it, the same bits as if each were made alone, and no text is
    read more often for them.
    """
    executor, progress, n = executor or InProcess(), progress or no_progress, corpus.counts["documents"]
    if not n:
        raise ValueError(f"{corpus.folder}: the corpus is empty")
    reader = CorpusReader(corpus, split, fields=vectoriser.field_names).with_cuts()
    reader.require_fields()
    reader = reader.at(storage) if storage else reader
    names = corpus.names("words") if reader.counted else None
    tag_counts = np.zeros(corpus.counts["tags"], np.int64)
    vectoriser.fit_frequencies(_frequencies(reader, vectoriser, tag_counts, executor, progress), names)
    kept = np.flatnonzero(tag_counts >= split.min_tag_df) if split.min_tag_df > 1 else np.arange(tag_counts.size)
    if not kept.size:
        raise ValueError(f"split.min_tag_df = {split.min_tag_df}: no tag is on so many documents to learn from")
    names_of_tags = corpus.names("tags")
    every = [*(replace(v, vectoriser=v.vectoriser.fit_as(vectoriser)) for v in views)]
    every.append(FeatureView(folder, vectoriser, manifest))  # the last is the first to be whole
    with ExitStack() as open_writers:
        writers = [open_writers.enter_context(write_dataset(v.folder, "features", **v.manifest)) for v in every]
        done = n
        for rows in _in_order(executor, _weigh_rows, reader.parts(), [v.vectoriser for v in every]):
            for side, (chosen, documents, tags) in rows["sides"].items():
                kept_tags = tags if kept.size == tags.shape[1] else tags[:, kept]
                for writer, words in zip(writers, rows["words"], strict=True):
                    writer.append(side, rows_table(documents, words[chosen], kept_tags))
            done += rows["documents"]
            progress(done, 2 * n, {})
        for writer, view in zip(writers, every, strict=True):
            writer.append("tags", names_table([names_of_tags[tag] for tag in kept]))
            (writer.folder / VECTORISER).mkdir()
            view.vectoriser.save(writer.folder / VECTORISER)


def rows_table(documents: np.ndarray, words: sp.csr_matrix, tags: sp.csr_matrix) -> pa.Table:
    """A table of the schema `ROWS`: documents by number, their word weights and tag counts."""
    columns = [pa.array(documents, pa.int64()), *lists_from_csr(words), *lists_from_csr(tags)]
    return pa.table(columns, schema=ROWS)


def tag_frequencies(features: Dataset, side: str) -> np.ndarray:
    """Counts the documents of one side that carry each tag, without reading their words."""
    counts = np.zeros(features.counts["tags"], np.int64)
    for block in features.blocks(side, ["tags"]):
        counts += np.bincount(pc.list_flatten(block["tags"]).to_numpy(), minlength=counts.size)
    return counts


def _frequencies(
    reader: CorpusReader, vectoriser: Vectoriser, tag_counts: np.ndarray, executor: Executor, progress: Progress
) -> Iterator[dict[str, np.ndarray]]:
    """Counts the terms that the vocabulary is chosen from, shard by shard, and adds to the documents of every tag.

    Ends in a ValueError where there is nothing to learn from or to measure on.
    """
    n, counts = reader.corpus.counts["documents"], np.zeros(4, np.int64)
    for shard in _in_order(executor, _count_terms, reader.parts(_LEARNING_SHARDS), [vectoriser]):
        yield from shard["terms"]
        counts += shard["counts"]
        tag_counts += shard["tags"]
        progress(int(counts[0]), 2 * n, {})
    _require_both_sides(reader.corpus, *counts.tolist())


def _count_terms(reader: CorpusReader, shared: dict[str, Any]) -> dict[str, Any]:
    """Pass 1: how frequent the terms and tags of a shard are, and how many documents it has (see `_to_learn_from`)."""
    (vectoriser,), counts = _vectorisers.get(shared), np.zeros(4, np.int64)
    tags = np.zeros(reader.corpus.counts["tags"], np.int64)
    if reader.counted:
        # each row group by itself: sums of real values depend on where they are cut
        return {
            "terms": [_count_bags(vectoriser, group, reader, counts, tags) for group in reader],
            "counts": counts,
            "tags": tags,
        }
    texts = (group.texts.filter(pa.array(_to_learn_from(group, counts, tags))) for group in reader)
    return {"terms": [vectoriser.count_terms(texts)], "counts": counts, "tags": tags}


def _count_bags(
    vectoriser: Vectoriser, group: RowGroup, reader: CorpusReader, counts: np.ndarray, tags: np.ndarray
) -> dict[str, np.ndarray]:
    assert group.bags is not None
    try:
        return vectoriser.count_bags(group.bags, group.bags.shape[1], _to_learn_from(group, counts, tags), group.first)
    except ValueError as error:
        raise ValueError(f"{reader.path_of('bags.parquet')}: {error}") from error


def _to_learn_from(group: RowGroup, counts: np.ndarray, tags: np.ndarray) -> np.ndarray:
    """Marks the documents to learn from; adds to the counts: all documents, to learn from, to measure on, tagged.

    `tags` gets how many of those to learn from have each tag.
    """
    chosen = ~group.held_out & group.used
    tags += np.bincount(group.tags[chosen].indices, minlength=tags.size)
    counts += len(chosen), chosen.sum(), (group.held_out & group.used).sum(), group.tagged.sum()
    return chosen


def _weigh_rows(reader: CorpusReader, shared: dict[str, Any]) -> dict[str, Any]:
    """Pass 2: the rows of one row group, weighed by each vectoriser, and which are of which side."""
    vectorisers = _vectorisers.get(shared)
    (group,) = reader
    if group.bags is not None:
        words = [vectoriser.transform_counts(group.bags) for vectoriser in vectorisers]
    else:
        words = vectorisers[0].transform_as(group.texts, vectorisers)
    sides = {}
    for side, wanted in (("train", ~group.held_out), ("test", group.held_out)):
        chosen = np.flatnonzero(wanted & group.used)
        sides[side] = chosen, group.first + chosen, group.tags[chosen]
    return {"documents": len(group.used), "words": tuple(words), "sides": sides}


def _in_order(
    executor: Executor, step: Callable, shards: list[CorpusReader], vectorisers: Sequence[Vectoriser]
) -> Iterator[Any]:
    """step(shard, the vectorisers as plain arrays) of every shard in turn, some of them worked on ahead."""
    parts: dict[str, Any] = {str(i): vectoriser.parts() for i, vectoriser in enumerate(vectorisers)}
    shared = executor.share(parts)
    ahead: deque = deque()
    try:
        for shard in shards:
            ahead.append(executor.call(step, shard, shared))
            if len(ahead) == _AHEAD:
                yield executor.get([ahead.popleft()])[0]
        while ahead:
            yield executor.get([ahead.popleft()])[0]
    finally:
        _vectorisers.forget(shared)


class _VectoriserCache:
    """The vectorisers that this process last made of shared arrays: their tables serve all of its shards."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self._latest: deque[tuple[dict, tuple[Vectoriser, ...]]] = deque(maxlen=size)

    def get(self, parts: dict[str, Any]) -> tuple[Vectoriser, ...]:
        with self._lock:
            for cached_parts, vectorisers in self._latest:
                if cached_parts is parts:
                    return vectorisers
            self._latest.append((parts, tuple(map(Vectoriser.from_parts, parts.values()))))
            return self._latest[-1][1]

    def forget(self, parts: Any) -> None:
        with self._lock:
            for pair in [pair for pair in self._latest if pair[0] is parts]:
                self._latest.remove(pair)


_vectorisers = _VectoriserCache(2)


def _require_both_sides(corpus: Dataset, n: int, train: int, test: int, tagged: int) -> None:
    if not tagged:
        raise ValueError(f"{corpus.folder}: none of its {n} documents has a tag: there is nothing to learn")
    if corpus.counts["tags"] < 2:
        raise ValueError(f"{corpus.folder}: all documents share one tag: there is nothing to choose between")
    for count, purpose in ((train, "learn from"), (test, "measure on")):
        if not count:
            raise ValueError(f"{corpus.folder}: no document is left to {purpose}, of {n} ({tagged} tagged)")
