"""Features of the same documents side by side: the same bits as matrices stacked by hand, and no others are joined."""

import shutil

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.corpus import Corpus
from tagcore.features.build import make_features
from tagcore.features.rows import InMemory, StoredRows, load_all, load_part
from tagcore.features.side_by_side import (
    SideBySide,
    columns_of,
    join_features,
    number_of_view,
    open_rows,
    open_vectoriser,
)
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset, StoreError, is_complete
from tagcore.text import Vectoriser

TEXTS = [
    f"{a} {b} {c}" for a in ("red", "green") for b in ("apple", "car", "pear") for c in ["one", "two", "three", "four"]
]
TAGS = [[text.split()[1], text.split()[0]] for text in TEXTS]


def made(folder, name, vectoriser, texts=TEXTS, tags=TAGS, split=None) -> Dataset:
    if not (folder / f"corpus {name}").exists():
        Corpus.from_texts(texts, tags).save(folder / f"corpus {name}")
    corpus = Dataset.open(folder / f"corpus {name}", "corpus")
    make_features(corpus, folder / name, vectoriser, split or Split(test=0.3))
    return Dataset.open(folder / name, "features")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """(folder, words, pairs), and the two side by side in the folder's `joined`."""
    folder = tmp_path_factory.mktemp("views")
    words, pairs = made(folder, "words", Vectoriser()), made(folder, "pairs", Vectoriser(ngram_range=(2, 2)))
    join_features(folder / "joined", [words, pairs], parameters=words.manifest["parameters"], inputs={"of": "both"})
    return folder, words, pairs


def both_of(stored, side: str) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    (X, Y), (Z, _) = (load_all(StoredRows.open(view.folder, side)) for view in stored[1:])
    return sp.hstack([X, Z], format="csr"), Y


@pytest.mark.parametrize("side", ["train", "test"])
def test_rows_are_those_of_both(stored, side):
    rows, (X, Y) = open_rows(stored[0] / "joined", side), both_of(stored, side)
    assert isinstance(rows, SideBySide)
    assert (rows.n_rows, rows.n_features, rows.n_labels) == (*X.shape, Y.shape[1])
    some = np.array([0, 2, 3])
    for got, wanted in (
        (load_all(rows), slice(None)),
        (rows.load(slice(1, 4)), slice(1, 4)),
        (load_part(rows.part(slice(2, 5))), slice(2, 5)),
        (load_all(rows.select(some)), some),
        (load_part(rows.select(some).part(slice(1, 3))), some[1:]),
    ):
        assert (got[0] != X[wanted]).nnz == 0
        assert (got[1] != Y[wanted]).nnz == 0
    assert (rows.labels(slice(0, 3)) != Y[:3]).nnz == 0
    assert hash(rows.part(slice(0, 2))) == hash(rows.part(slice(0, 2)))  # what is loaded once is found by it


def test_what_is_joined_is_a_whole_data_set_of_its_own(stored, tmp_path):
    folder, words, _ = stored
    joined = Dataset.open(folder / "joined", "features")
    assert joined.names("tags") == words.names("tags")
    assert joined.read("test").equals(words.read("test"))
    moved = tmp_path / "elsewhere"
    shutil.copytree(folder / "joined", moved)  # without the views that it was made of
    assert is_complete(moved, joined.key, "features")
    assert open_rows(moved, "test").n_features == open_rows(folder / "joined", "test").n_features
    texts = ["green apple one"]
    expected = sp.hstack([Vectoriser.load(view.folder / "vectoriser").transform(texts) for view in stored[1:]])
    assert (open_vectoriser(moved).transform(texts) != expected).nnz == 0
    (moved / "views" / "1" / "train.parquet").unlink()
    with pytest.raises(StoreError, match=r"views/1/train\.parquet"):
        Dataset.open(moved, "features")


def test_features_of_one_view_are_opened_as_they_are(stored):
    _, words, _ = stored
    rows = open_rows(words.folder, "train")
    assert isinstance(rows, StoredRows)
    assert number_of_view(rows, rows) == 0
    assert isinstance(open_vectoriser(words.folder), Vectoriser)


def test_other_documents_and_other_tags_are_not_joined(stored, tmp_path):
    _, words, _ = stored
    elsewhere = made(tmp_path, "elsewhere", Vectoriser(), split=Split(test=0.3, seed=5))
    with pytest.raises(ValueError, match="its train documents are others"):
        join_features(tmp_path / "joined", [words, elsewhere])
    renamed = made(tmp_path, "renamed", Vectoriser(), tags=[[f"a {tag}" for tag in tags] for tags in TAGS])
    with pytest.raises(ValueError, match="its tags are others"):
        join_features(tmp_path / "joined", [words, renamed])
    with pytest.raises(ValueError, match="side by side already"):
        join_features(tmp_path / "joined", [words, Dataset.open(stored[0] / "joined", "features")])
    assert not (tmp_path / "joined").exists()


def test_columns_of_rows(stored):
    rows, (X, Y) = open_rows(stored[0] / "joined", "train"), both_of(stored, "train")
    words, total = rows.edges[1], rows.n_features
    assert columns_of(rows, None) is rows
    assert columns_of(rows, (0, total)) is rows
    assert columns_of(rows, (0, words)) is rows.views[0]
    assert columns_of(rows, (words, total)) is rows.views[1]
    assert [number_of_view(rows, read) for read in (*rows.views, rows)] == [0, 1, None]
    with pytest.raises(ValueError, match="expected those of one of the features side by side"):
        columns_of(rows, (1, words))
    with pytest.raises(ValueError, match=f"the rows have {total}"):
        columns_of(rows, (0, total + 1))
    some = columns_of(InMemory(X, Y), (1, words))
    assert (X[:, 1:words] != some.X).nnz == 0
    assert (some.Y != Y).nnz == 0


def test_views_have_the_same_rows():
    X, Y = sp.csr_matrix(np.eye(3)), sp.csr_matrix(np.eye(3))
    with pytest.raises(ValueError, match="expected the same of all"):
        SideBySide((InMemory(X, Y), InMemory(X[:2], Y[:2])))
