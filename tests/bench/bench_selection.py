"""Information gain of all words on citeulike-t as a multiple of one tf-idf pass over the same counts, on one core.

A pass is document frequencies and weights: scikit-learn's `TfidfTransformer.fit_transform`, or `fit_counts` and
`transform_counts` of our Vectoriser. All ways take turns; the least CPU time of each counts. `n11` alone is scipy's
product of the two presence matrices, from which the plain way to the gains would begin.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from threadpoolctl import threadpool_limits

from tagcore.corpus import tag_matrix
from tagcore.readers import open_source
from tagcore.text import Vectoriser
from tagcore.text.selection import MIN_TAG_DF, SelectWords, information_gain, mutual_information

TURNS = 25


def run(data: Path | None) -> list[dict[str, Any]]:
    """Milliseconds of each way, and as multiples of the two tf-idf passes."""
    if data is None:
        return []
    X, Y = _citeulike(data)
    names = [str(word) for word in range(X.shape[1])]
    classes = np.random.default_rng(0).integers(0, 30, X.shape[0])
    common = Y[:, np.diff(Y.tocsc().indptr) >= MIN_TAG_DF]
    words, tags = sp.csr_matrix((X > 0).T, dtype=np.int32), sp.csr_matrix(common > 0, dtype=np.int32)
    ways: dict[str, Callable[[], Any]] = {
        "tf-idf: TfidfTransformer": lambda: TfidfTransformer().fit_transform(X),
        "tf-idf: Vectoriser": lambda: Vectoriser().fit_counts([X], names).transform_counts(X),
        f"information_gain, {common.shape[1]} tags": lambda: information_gain(X, Y),
        "SelectWords.fit: the same with all checks": lambda: SelectWords().fit(X, Y),
        "n11 alone, scipy": lambda: words @ tags,
        "mutual_information, 30 classes": lambda: mutual_information(X, classes),
    }
    with threadpool_limits(1):
        taken = {way: min(times) for way, times in _take_turns(ways).items()}
    rival, own = list(taken.values())[:2]
    return [
        {"what": way, "ms": 1e3 * seconds, "÷ TfidfTransformer": seconds / rival, "÷ Vectoriser": seconds / own}
        for way, seconds in taken.items()
    ]


def _take_turns(ways: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """CPU seconds of every turn, the first, which compiles, left out."""
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(1 + TURNS):
        for way, work in ways.items():
            start = time.process_time()
            work()
            if turn:
                taken[way].append(time.process_time() - start)
    return taken


def _citeulike(data: Path) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    source = open_source(data / "citeulike-t")
    blocks = list(source.blocks())
    tags = [tag_matrix(block.taggings, block.documents.num_rows, len(source.tags), 0) for block in blocks]
    X = sp.vstack([block.words for block in blocks], format="csr", dtype=np.float64)
    return X, sp.vstack(tags, format="csr")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the real data sets")
    for row in run(parser.parse_args().data):
        print(f"{row.pop('what'):46}" + "".join(f"{name}: {value:<10.4g}" for name, value in row.items()))


if __name__ == "__main__":
    main()
