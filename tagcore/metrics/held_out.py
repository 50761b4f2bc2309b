"""Any stored tagger on the held-out documents of any features: what a champion is compared by.

The tagger brings its own vocabulary and tags; documents are read again from the corpus and tags matched by name.
"""

import numpy as np
import scipy.sparse as sp

from tagcore.corpus import Names
from tagcore.features.corpus_reader import CorpusReader
from tagcore.features.split import Split
from tagcore.metrics.ranking import mark_hits
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger


def parse_measure(measure: str) -> tuple[str, int]:
    """The measure's name and its k; ValueError for one that models cannot be compared by."""
    name, _, k = measure.partition("@")
    if name not in ("P", "R", "nDCG", "acc") or not k.isdigit() or int(k) < 1:
        raise ValueError(f"models are compared by P@k, R@k, nDCG@k or acc@k, not by {measure!r}")
    return name, int(k)


def held_out_values(tagger: Tagger, corpus: Dataset, features: Dataset, measure: str) -> np.ndarray:
    """One value of the measure per held-out document, in the order of the features' test rows."""
    name, k = parse_measure(measure)
    tags = Names(features.names("tags"))
    ids = np.array([tags.id(tag) for tag in tagger.tag_names])  # tags that are new here stand after all others
    columns = _columns(tagger, corpus)
    values = []
    for piece in CorpusReader(corpus, Split(**features.manifest["parameters"]["split"])):
        rows = np.flatnonzero(piece.held_out & piece.used)
        if not rows.size:
            continue
        if piece.bags is not None:
            words = tagger.vectoriser.transform_counts(piece.bags[rows] @ columns)
        else:
            words = tagger.vectoriser.transform(piece.texts.take(rows))
        top, _ = tagger.top_k(words, k)
        truth = piece.tags[rows]
        truth.resize(rows.size, len(tags))
        hits = mark_hits(truth, ids[top]).padded(k)
        by_name = {"P": hits.precision, "R": hits.recall, "nDCG": hits.ndcg, "acc": hits.accuracy}
        values.append(by_name[name](k))
    return np.concatenate(values)


def _columns(tagger: Tagger, corpus: Dataset) -> sp.csr_matrix | None:
    """Corpus words × the columns that the tagger's vectoriser takes, matched by the names of its terms."""
    if not corpus.has("bags"):
        return None
    theirs, vectoriser = Names(corpus.names("words")), tagger.vectoriser
    pairs = [(theirs.find(term), column) for term, column in zip(vectoriser.terms_, vectoriser.columns_, strict=True)]
    rows, columns = np.array([p for p in pairs if p[0] is not None], int).reshape(-1, 2).T
    ones = np.ones(rows.size, np.float32)
    return sp.csr_matrix((ones, (rows, columns)), shape=(len(theirs), vectoriser.n_features_in_))
