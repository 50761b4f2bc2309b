"""Which of the held-out documents decide between challenger and champion.

Those of the first night's hold-out, as later ones differ from night to night; and of these, where the split has changed
since the champion was made, those that it has not learnt from. Where too few would be left all decide, and it is told.
"""

from dataclasses import replace

import numpy as np

from tagcore.features.corpus_reader import CorpusReader
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset
from tasks.features import has_official_split


def choose_deciding_rows(
    held_out: int, fixed: np.ndarray | None, unlearnt: np.ndarray | None, least: int
) -> tuple[np.ndarray, str]:
    """Marks the test rows that decide, and says what they are.

    `fixed` marks those that the first night held out, where there were nights; `unlearnt` those that the champion has
    not learnt from, where that is not all of them.
    """
    decide, told = np.ones(held_out, bool), "documents"
    if fixed is not None and not fixed.all():
        if (left := int(fixed.sum())) >= least:
            decide = fixed
        else:
            told = f"documents, later ones among them: of those that the first night held out {left:,} are left"
    if unlearnt is None:
        return decide, told
    if (both := decide & unlearnt).sum() >= least:
        return both, f"{told} that the champion's own split held out, too"
    return decide, f"{told}, some of which the champion may have learnt: it was made with another split"


def find_unlearnt(corpus: Dataset, split: Split, before: Split) -> np.ndarray | None:
    """Marks the test rows of a split that the split before held out, too; None where both hold out the same.

    None of them is known to be so where the split before took numbers of documents, which another corpus may change, or
    was the source's own, which these documents have no more.
    """
    if _held_out_by(before) == _held_out_by(split):
        return None
    held_out = _held_out(corpus, split)
    can_tell = before.by_share and (before.kind != "official" or has_official_split(corpus.folder))
    return _held_out(corpus, before)[held_out] if can_tell else np.zeros(int(held_out.sum()), bool)


def _held_out(corpus: Dataset, split: Split) -> np.ndarray:
    """Marks, of all documents that take part, those that are held out."""
    reader = CorpusReader(corpus, split).with_cuts()
    return np.concatenate([split.held_out(documents, reader.cuts) for documents in reader.used_documents()])


def _held_out_by(split: Split) -> Split:
    """The split without what decides which tags are learnt, and without documents that stay where they were."""
    return replace(split, exceptions=(), min_tag_df=1, revealed=1.0)
