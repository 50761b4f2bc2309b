"""Real sets of MEKA, UCI, MATLAB and Vowpal Wabbit: their counts, other ways to read them, and their features."""

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import loadmat

from tagcore.corpus import append_block, append_names
from tagcore.features.build import make_features
from tagcore.features.split import Split
from tagcore.readers import open_source
from tagcore.store.datasets import Dataset, write_dataset
from tagcore.text import Vectoriser
from tests.problems import stored_side
from tests.tagcore.readers.test_known_sets import matrices, plain_arff

pytestmark = pytest.mark.data
UCI = {  # file, column of the class, column of the split, rows for training
    "letter": ("letter-recognition.data", 0, None, 16000),
    "penbased": ("penbased.dat", -1, None, None),
    "satimage": ("satimage.dat", -1, None, None),
    "segment": ("segment.dat", -1, None, None),
    "vowel": ("vowel.dat", -1, 0, 528),
}


def test_slashdot_against_plain_splitting(shared_data: Path) -> None:
    words, tags, splits = matrices(shared_data / "slashdot")  # raises unless the counts are those of the card
    names, rows = plain_arff(shared_data / "slashdot" / "SLASHDOT-F.arff.gz")
    theirs = np.zeros((len(rows), len(names)), np.float32)
    for row, cells in enumerate(rows):
        theirs[row, list(cells)] = list(cells.values())
    np.testing.assert_array_equal(np.hstack([tags.toarray(), words.toarray()]), theirs)
    assert splits == ["train"] * 1891 + ["test"] * 1891
    source = open_source(shared_data / "slashdot")
    assert [*source.tags, *(source.words or ())] == names


@pytest.mark.parametrize("name", UCI)
def test_uci_against_the_csv_module(shared_data: Path, name: str) -> None:
    file, class_column, flag, n_train = UCI[name]
    with open(shared_data / "uci" / file, newline="") as stream:
        rows = [[field.strip() for field in row] for row in csv.reader(stream)]
    source = open_source(f"{shared_data}/uci:{name}")
    words, tags, splits = matrices(f"{shared_data}/uci:{name}")
    classes = [row.pop(class_column) for row in rows]
    flags = [row.pop(flag) for row in rows] if flag is not None else None
    np.testing.assert_array_equal(words.toarray(), np.array(rows, np.float64).astype(np.float32))
    list(source.blocks())
    assert [list(source.tags)[row.indices[0]] for row in tags] == classes
    assert tags.sum() == len(rows)
    if flags is not None:
        assert splits == ["test" if flag == "1" else "train" for flag in flags]
    elif n_train is not None:
        assert splits == ["train"] * n_train + ["test"] * (len(rows) - n_train)
    assert splits.count("train") == (n_train or 0)


def test_rcv1_subset_against_scipy(shared_data: Path) -> None:
    words, tags, splits = matrices(f"{shared_data}/rcv1:rcv1-subset1")
    theirs = loadmat(shared_data / "rcv1" / "rcv1subset1_top944.mat")
    np.testing.assert_array_equal(words.toarray(), theirs["data"])
    np.testing.assert_array_equal(tags.toarray(), theirs["target"].T)
    assert set(splits) == {None}


def test_rcv1_rows_of_vowpal_wabbit_against_plain_splitting(shared_data: Path) -> None:
    source = open_source(f"{shared_data}/rcv1:rcv1-small")
    words, tags, splits = matrices(f"{shared_data}/rcv1:rcv1-small")
    list(source.blocks())
    columns = {name: column for column, name in enumerate(source.words or ())}
    rows, labels = [], []
    for file in ("rcv1_small.dat.gz", "rcv1_small_test.data.gz"):
        with gzip.open(shared_data / "rcv1" / file, "rt") as stream:
            for line in stream:
                head, _, rest = line.partition("|f ")
                labels.append(head.strip())
                rows.append([pair.split(":") for pair in rest.split()])
    assert set(columns) == {f"f^{word}" for row in rows for word, _ in row}
    at = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    theirs = sp.csr_matrix(
        ([float(v) for row in rows for _, v in row], (at, [columns[f"f^{w}"] for row in rows for w, _ in row])),
        shape=words.shape,
    )
    assert abs(words - theirs.astype(np.float32)).max() == 0
    assert [list(source.tags)[row.indices[0]] for row in tags] == labels
    assert splits == ["train"] * 1000 + ["test"] * 500


@pytest.mark.parametrize("name", ["emotions", "uci:vowel"])
def test_measured_values_reach_the_models_as_they_are(shared_data: Path, tmp_path: Path, name: str) -> None:
    source = open_source(f"{shared_data}/{name}")
    with write_dataset(tmp_path / "corpus", "corpus") as writer:
        for block in source.blocks(100):
            append_block(writer, block)
        append_names(writer, source.tags, source.words)
    stored = Dataset.open(tmp_path / "corpus", "corpus")
    with pytest.raises(ValueError, match=r"use_idf=False, sublinear_tf=False and binary=False"):
        make_features(stored, tmp_path / "weighted", Vectoriser(), Split("official"))
    make_features(stored, tmp_path / "features", Vectoriser(use_idf=False, norm=None), Split("official"))
    words, _, splits = matrices(f"{shared_data}/{name}")
    assert words.min() < 0
    for side in ("train", "test"):
        X, _ = stored_side(Dataset.open(tmp_path / "features", "features"), side)
        np.testing.assert_array_equal(X.toarray(), words[[s == side for s in splits]].toarray())
