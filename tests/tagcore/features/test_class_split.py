"""Rows of one class each: split as documents are, scaled by the rows to learn from."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.corpus import Corpus, documents_table, taggings_table
from tagcore.features.class_split import KIND, Scaling, load_class_side, save_class_split
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset

N = 50


def corpus(tags=None):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(5, 3, N), np.full(N, 4.0), rng.normal(0, 0.1, N)]).astype(np.float32)
    pairs = [(row, row % 3) for row in range(N)] if tags is None else tags
    taggings = taggings_table(*np.transpose(pairs))
    documents = documents_table(id=[f"r{i}" for i in range(N)])
    return Corpus(documents, taggings, ["a", "b", "c"], sp.csr_matrix(X), ["x", "constant", "z"])


def test_both_sides_are_scaled_by_the_rows_to_learn_from(tmp_path):
    save_class_split(tmp_path / "split", corpus(), Split("drawn", 0.4, seed=1))
    train, test = (load_class_side(tmp_path / "split", side) for side in ("train", "test"))
    np.testing.assert_allclose(train.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.X.std(axis=0), [1, 0, 1], atol=1e-12)
    assert not np.allclose(test.X[:, 0].mean(), 0, atol=1e-3)
    data = Dataset.open(tmp_path / "split", KIND)
    scaling = Scaling.from_table(data.read("scaling"))
    back = np.concatenate([side.X * scaling.deviations + scaling.means for side in (train, test)])
    wanted = corpus().words.toarray()
    np.testing.assert_allclose(np.sort(back, axis=0), np.sort(wanted, axis=0), atol=1e-6)
    held_out = Split("drawn", 0.4, seed=1).held_out(corpus().documents)
    assert test.y.tolist() == np.array(["a", "b", "c"])[np.arange(N) % 3][held_out].tolist()
    assert len(train.y) + len(test.y) == N


def test_sides_have_as_many_rows_as_they_are_told(tmp_path):
    save_class_split(tmp_path / "split", corpus(), Split("drawn", 20, seed=1, train_documents=12, test_documents=7))
    assert [len(load_class_side(tmp_path / "split", side).y) for side in ("train", "test")] == [12, 7]


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        ([(row, 0) for row in range(N) if row != 7], "row 'r7' has 0 classes, expected one"),
        ([(row, 0) for row in range(N)] + [(N - 1, 1)], "row 'r49' has 2 classes, expected one"),
    ],
)
def test_a_row_without_a_class_of_its_own_is_named(tags, told, tmp_path):
    with pytest.raises(ValueError, match=told):
        save_class_split(tmp_path / "split", corpus(tags), Split("drawn", 0.4))


def test_texts_are_no_rows_of_numbers(tmp_path):
    with pytest.raises(ValueError, match="holds texts, expected rows of numbers"):
        save_class_split(tmp_path / "split", Corpus.from_texts(["a b", "c"], [["x"], ["y"]]), Split("drawn", 0.4))


def test_a_side_without_rows_is_refused(tmp_path):
    with pytest.raises(ValueError, match="leaves 0 to learn from and 50 to measure on of 50 rows"):
        save_class_split(tmp_path / "split", corpus(), Split("drawn", 50))
