"""Text to tf-idf against scikit-learn, in seconds of one core, and the memory of the two streaming passes."""

import argparse
import csv
import io
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from tagcore.text import Vectoriser
from tagcore.text.html import strip_html

SETS = ("biology", "cooking", "crypto")
KINDS: dict[str, dict[str, Any]] = {
    "words and pairs of words": {"ngram_range": (1, 2)},
    "words and pairs without stop words": {"ngram_range": (1, 2), "stop_words": "english"},
    "the 20,000 most frequent words and pairs": {"ngram_range": (1, 2), "max_features": 20_000},
    "3 to 5 characters within words": {"analyzer": "char_wb", "ngram_range": (3, 5)},
    "the 20,000 most frequent of these": {"analyzer": "char_wb", "ngram_range": (3, 5), "max_features": 20_000},
}
HASHED: dict[str, dict[str, Any]] = {
    "words, hashed": {},
    "words and pairs, hashed": {"ngram_range": (1, 2)},
    "3 to 5 characters within words, hashed": {"analyzer": "char_wb", "ngram_range": (3, 5)},
}
COLUMNS, KINDS_OF = 2**18, "crypto"
STREAMS = (50_000, 500_000)
BLOCK, WORDS_PER_TEXT, VOCABULARY = 5_000, 60, 50_000


def run(data: Path | None) -> list[dict[str, Any]]:
    """One row per measurement: CPU seconds, and megabytes in `memory`. Without data, only what needs none."""
    rows = [row for name in SETS for row in _vectorise(data, name)] if data is not None else []
    rows += _kinds(read_texts(data, KINDS_OF)) if data is not None else []
    return rows + [_stream(n) for n in STREAMS]


def read_texts(data: Path, name: str) -> list[str]:
    """Title and visible text of the questions of one StackExchange site."""
    csv.field_size_limit(1 << 30)
    archive = zipfile.ZipFile(data / "stackexchange" / f"{name}.csv.zip")
    with archive, archive.open(archive.namelist()[0]) as file:
        questions = csv.DictReader(io.TextIOWrapper(file, "utf-8", newline=""))
        return [f"{question['title']} {strip_html(question['content'])}" for question in questions]


def _vectorise(data: Path, name: str) -> list[dict[str, Any]]:
    texts = read_texts(data, name)
    Vectoriser().fit(texts[:100]).transform(texts[:1])  # compiles
    Vectoriser().fit_transform(texts[:100])
    ours, rows = _best(lambda: Vectoriser().fit_transform(texts))
    column = pa.array(texts)
    from_arrow, _ = _best(lambda: Vectoriser().fit_transform(column))
    peer, wanted = _best(lambda: TfidfVectorizer(dtype=np.float32).fit_transform(texts))
    _require_same(rows, wanted, name)

    question = [" ".join(texts[0].split()[:30])]
    fitted, theirs = Vectoriser().fit(texts), TfidfVectorizer(dtype=np.float32).fit(texts)
    one, _ = _best(lambda: [fitted.transform(question) for _ in range(1000)])
    peer_one, _ = _best(lambda: [theirs.transform(question) for _ in range(100)])
    return [
        _row(f"{name}: {len(texts)} texts to tf-idf", ours, peer),
        _row(f"{name}: the same from arrow", from_arrow, peer),
        _row(f"{name}: one text of 30 words", one / 1000, peer_one / 100),
    ]


def _kinds(texts: list[str]) -> list[dict[str, Any]]:
    """Every kind of feature, learnt and applied to the same texts, against scikit-learn's vectoriser of that kind."""
    peers: dict[str, tuple[Vectoriser, TfidfVectorizer | HashingVectorizer]] = {
        what: (Vectoriser(**params), TfidfVectorizer(dtype=np.float32, **params)) for what, params in KINDS.items()
    }
    options: dict[str, Any] = {"alternate_sign": False, "dtype": np.float32}
    for what, params in HASHED.items():
        ours = Vectoriser(hashed_columns=COLUMNS, use_idf=False, **params)
        peers[what] = ours, HashingVectorizer(n_features=COLUMNS, **options, **params)
    rows = []
    for what, (ours, peer) in peers.items():
        ours.fit_transform(texts[:100])  # compiles
        seconds, got = _best(lambda ours=ours: ours.fit_transform(texts))
        theirs, wanted = _best(lambda peer=peer: peer.fit_transform(texts), repeats=2)
        _require_same(got, wanted, what)
        rows.append(_row(f"{KINDS_OF}: {what}", seconds, theirs))
    return rows


def _require_same(rows: sp.csr_matrix, wanted: sp.csr_matrix, what: str) -> None:
    wanted = sp.csr_matrix(wanted)
    wanted.sort_indices()
    assert np.array_equal(rows.indptr, wanted.indptr), what
    assert np.array_equal(rows.indices, wanted.indices), what
    assert np.allclose(rows.data, wanted.data, rtol=0, atol=1e-6), what


def _best(measured: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        result = measured()
        best = min(best, time.process_time() - start)
    return best, result


def _row(what: str, ours: float, peer: float | None, memory: float | None = None) -> dict[str, Any]:
    ratio = None if peer is None else peer / ours
    return {"what": what, "ours": ours, "peer": peer, "ratio": ratio, "memory": memory}


def _stream(n_documents: int) -> dict[str, Any]:
    """Both passes over a stream in a process of its own, whose peak memory is theirs alone."""
    command = [sys.executable, "-m", "tests.bench.bench_tfidf", "--stream", str(n_documents)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    seconds, megabytes = map(float, done.stdout.split())
    return _row(f"two passes over {n_documents} streamed texts", seconds, None, megabytes)


def _generate(n_documents: int) -> Iterator[pa.Array]:
    """Arrow blocks of texts with Zipf's word frequencies, the same at every call."""
    random = np.random.default_rng(0)
    words = pa.array([f"word{i:x}" for i in range(VOCABULARY)])
    ranks = 1 / np.arange(1, VOCABULARY + 1)
    cumulated = np.cumsum(ranks) / ranks.sum()
    for _ in range(n_documents // BLOCK):
        drawn = np.searchsorted(cumulated, random.random(BLOCK * WORDS_PER_TEXT))
        offsets = pa.array(np.arange(0, drawn.size + 1, WORDS_PER_TEXT), pa.int32())
        yield pc.binary_join(pa.ListArray.from_arrays(offsets, words.take(pa.array(drawn))), " ")


def _run_stream(n_documents: int) -> None:
    start = time.process_time()
    vectoriser = Vectoriser().fit_blocks(_generate(n_documents))
    entries = sum(vectoriser.transform(block).nnz for block in _generate(n_documents))
    assert vectoriser.n_documents_ == n_documents
    assert entries == vectoriser.df_.sum()
    print(time.process_time() - start, _peak_megabytes())


def _peak_megabytes() -> float:
    # getrusage would count the process that started this one
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the real data sets")
    parser.add_argument("--stream", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.stream:
        _run_stream(chosen.stream)
        return
    print(f"{'what':48}{'ours s':>12}{'peer s':>12}{'ratio':>8}{'peak MB':>9}")
    for row in run(chosen.data):
        cells = [
            "" if row[name] is None else f"{row[name]:{form}}"
            for name, form in (("ours", ".6f"), ("peer", ".6f"), ("ratio", ".1f"), ("memory", ".0f"))
        ]
        print(f"{row['what']:48}{cells[0]:>12}{cells[1]:>12}{cells[2]:>8}{cells[3]:>9}")


if __name__ == "__main__":
    main()
