"""Planted data: documents (or users) a second of one core, set-up included, and the peak memory of a process that
streams them. The peer is scikit-learn's make_multilabel_classification with the same numbers of words, tags and words a
document, where its dense words × tags table can be had.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_multilabel_classification

from tagcore.synthetic.corpus import PlantedCorpus, delicious_shaped
from tagcore.synthetic.newswire import PlantedNewswire
from tagcore.synthetic.ratings import PlantedRatings
from tests.bench.bench_tfidf import _peak_megabytes

SIZES = (50_000, 500_000)
PEER_DOCUMENTS = 1_000
TOPICS, TOPICS_PER_STORY = 103, 3


def run(data: Path | None) -> list[dict[str, Any]]:
    """Nothing here needs the real data."""
    peers = {
        "documents with text": _peer(n_words=5_000, n_tags=200, words=60),
        "rows like RCV1-v2's": _peer(n_words=47_236, n_tags=TOPICS, words=115),
    }
    rows: list[dict[str, Any]] = []
    for what in SOURCES:
        for n in SIZES:
            speed, megabytes = _fresh(what, n)
            peer = peers.get(what)
            ratio = {} if peer is None else {"peer per s": peer, "ratio": speed / peer}
            rows.append({"what": f"{what}: {n:,}", "per s": speed, **ratio, "peak MB": megabytes})
    return rows


def _peer(n_words: int, n_tags: int, words: int) -> float:
    start = time.process_time()
    make_multilabel_classification(
        PEER_DOCUMENTS,
        n_words,
        n_classes=n_tags,
        n_labels=3,
        length=words,
        sparse=True,
        return_indicator="sparse",
        random_state=0,
    )
    return PEER_DOCUMENTS / (time.process_time() - start)


def _news(n: int) -> PlantedNewswire:
    ranks = 1 / (np.arange(TOPICS) + 1)
    drawn = np.random.default_rng(0).choice(TOPICS, (n, TOPICS_PER_STORY), p=ranks / ranks.sum()).astype(np.int32)
    labels = sp.csr_matrix(
        (np.ones(drawn.size, np.int8), drawn.ravel(), np.arange(0, drawn.size + 1, TOPICS_PER_STORY)), (n, TOPICS)
    )
    labels.sum_duplicates()
    return PlantedNewswire(labels, [f"T{k}" for k in range(TOPICS)])


SOURCES = {
    "documents with text": PlantedCorpus,
    "bookmarks like Delicious', 100,000 tags": delicious_shaped,
    "the same as text": lambda n: delicious_shaped(n, counted=False),
    "rows like RCV1-v2's": _news,
    "users with 40 ratings and 14 tags": lambda n: PlantedRatings(n, 20_000),
}


def _fresh(what: str, n: int) -> tuple[float, float]:
    """In a process of its own, whose peak memory is that of the stream alone."""
    command = [sys.executable, "-m", "tests.bench.bench_synthetic", "--stream", what, "--documents", str(n)]
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    speed, megabytes = map(float, done.stdout.split())
    return speed, megabytes


def _stream(what: str, n: int) -> None:
    for _ in SOURCES[what](10).blocks():  # compiles, or reads what was compiled
        pass
    start = time.process_time()
    for _ in SOURCES[what](n).blocks():
        pass
    print(n / (time.process_time() - start), _peak_megabytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stream", choices=list(SOURCES), help=argparse.SUPPRESS)
    parser.add_argument("--documents", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.stream:
        _stream(chosen.stream, chosen.documents)
        return
    for row in run(None):
        print(f"{row.pop('what'):52}" + "".join(f"{name}: {value:<12,.1f}" for name, value in row.items()))


if __name__ == "__main__":
    main()
