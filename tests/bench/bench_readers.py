"""Readers against scikit-learn's and liac-arff's loaders: rows a second, of the same file, with equal results.

Seconds of the wall, the best of five on a warm cache. liac-arff is measured in an environment of its own: the Python
that TAGFLOW_RIVALS_PYTHON names, or this one where it has it. Our svmlight reader goes through a file twice.
"""

import argparse
import gzip
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.io import arff as scipy_arff
from sklearn.datasets import load_svmlight_file

from tagcore.corpus import tag_matrix
from tagcore.readers import open_source
from tagcore.readers.source import Source

RIVAL = """
import arff, gzip, json, sys, time
seconds = []
for _ in range(5):
    start = time.perf_counter()
    opened = gzip.open if sys.argv[1].endswith(".gz") else open
    with opened(sys.argv[1], "rt") as file:
        rows = arff.load(file, return_type=arff.LOD)["data"]
    seconds.append(time.perf_counter() - start)
totals = [sum(float(v) for v in row.values()) for row in rows]
print(json.dumps([min(seconds), len(rows), sum(map(len, rows)), sum(totals)]))
"""
Row = dict[str, Any]


def run(data: Path | None) -> list[Row]:
    """Nothing without data."""
    if data is None:
        return []
    with tempfile.TemporaryDirectory() as scratch:
        return [*_eurlex(data, Path(scratch)), *_delicious(data, Path(scratch)), *_emotions(data)]


def _eurlex(data: Path, scratch: Path) -> list[Row]:
    packed = data / "eurlex4k" / "eurlex_train.txt.gz"
    plain = scratch / "eurlex_train.txt"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    # scikit-learn takes a file without the first line, and so does our reader of its format
    headless = scratch / "eurlex_train.svm"
    headless.write_bytes(plain.read_bytes().partition(b"\n")[2])
    headless_packed = scratch / "eurlex_train.svm.gz"
    headless_packed.write_bytes(gzip.compress(headless.read_bytes(), 6))
    rows = []
    for kind, ours, svmlight in (("plain", plain, headless), ("gz", packed, headless_packed)):
        theirs, (X, labels) = _best(
            lambda path=svmlight: load_svmlight_file(str(path), n_features=5000, multilabel=True, zero_based=True)
        )
        what = f"eurlex4k train, {kind}, {X.shape[0]} rows"
        rows.append(_rate(f"{what}: scikit-learn's load_svmlight_file", X.shape[0], theirs))
        for name, path, options in (
            ("xc", ours, {"format": "xc"}),
            ("svmlight", svmlight, {"zero_based": True, "n_features": 5000}),
        ):
            seconds, (words, tags, numbers) = _best(lambda p=path, o=options: _read(open_source(p, **o)))
            _same(words, X)
            assert [tuple(sorted(map(float, numbers[row.indices]))) for row in tags] == labels, path
            rows.append(_rate(f"{what}: ours as {name}", X.shape[0], seconds, theirs))
    return rows


def _delicious(data: Path, scratch: Path) -> list[Row]:
    packed = data / "delicious" / "delicious-train.arff.gz"
    plain = scratch / "delicious-train.arff"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    labels = data / "delicious" / "delicious.xml"
    rows = []
    for kind, path in (("plain", plain), ("gz", packed)):
        seconds, (words, tags, _) = _best(
            lambda p=path: _read(open_source(p, format="arff", labels=str(labels.resolve())))
        )
        what = f"delicious train, {kind}, {words.shape[0]} rows"
        rival = _liac(path)
        if rival is None:
            rows.append({"what": f"{what}: liac-arff is not here (TAGFLOW_RIVALS_PYTHON names none)"})
            rows.append(_rate(f"{what}: ours", words.shape[0], seconds))
            continue
        theirs, n, entries, total = rival
        assert (n, entries) == (words.shape[0], words.nnz + tags.nnz)
        assert total == words.sum() + tags.sum()
        rows.append(_rate(f"{what}: liac-arff", n, theirs))
        rows.append(_rate(f"{what}: ours", n, seconds, theirs))
    return rows


def _emotions(data: Path) -> list[Row]:
    """scipy.io.arff reads no sparse rows, so it meets the dense ones of a small set."""
    path = data / "emotions" / "emotions-train.arff.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    theirs, (table, _) = _best(lambda: scipy_arff.loadarff(io.StringIO(text)))
    seconds, (words, tags, _) = _best(lambda: _read(open_source(path, format="arff", labels="emotions.xml")))
    columns = [table[name].astype(np.float64) for name in table.dtype.names]
    assert np.array_equal(np.hstack([words.toarray(), tags.toarray()]), np.stack(columns, 1).astype(np.float32))
    what = f"emotions train, dense, {len(table)} rows"
    rate = _rate(f"{what}: ours", len(table), seconds, theirs)
    return [_rate(f"{what}: scipy.io.arff", len(table), theirs), rate]


def _liac(path: Path) -> tuple[float, int, int, float] | None:
    python = os.environ.get("TAGFLOW_RIVALS_PYTHON") or (sys.executable if importlib.util.find_spec("arff") else None)
    if python is None:
        return None
    done = subprocess.run([python, "-c", RIVAL, str(path)], check=True, capture_output=True, text=True)
    seconds, n, entries, total = json.loads(done.stdout)
    return seconds, n, entries, total


def _read(source: Source) -> tuple[sp.csr_matrix, sp.csr_matrix, np.ndarray]:
    """(words, tags, the names of the tags) of all rows, in memory as the rivals have them."""
    words, tags = [], []
    for block in source.blocks():
        words.append(block.words)
        tags.append((block.taggings, block.documents.num_rows))
    Y = sp.vstack([tag_matrix(table, n, len(source.tags)) for table, n in tags], format="csr")
    return sp.vstack(words, format="csr"), Y, np.array(list(source.tags))


def _same(ours: sp.csr_matrix, theirs: sp.csr_matrix) -> None:
    assert ours.shape == theirs.shape
    assert abs(ours - theirs.astype(np.float32)).max() == 0


def _best(work: Callable[[], Any], repeats: int = 5) -> tuple[float, Any]:
    seconds, result = float("inf"), work()  # compiles, and warms the cache of the disk
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, result


def _rate(what: str, n: int, seconds: float, rival: float | None = None) -> Row:
    row: Row = {"what": what, "rows/s": n / seconds}
    return row if rival is None else {**row, "times the rival": rival / seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the real data sets")
    for row in run(parser.parse_args().data):
        print(f"{row.pop('what'):75}" + "".join(f"{name}: {value:<12,.4g}" for name, value in row.items()))


if __name__ == "__main__":
    main()
