"""The real data sets, read with the counts of their cards and compared with other ways to read them."""

import csv
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from tagcore.corpus import tag_matrix
from tagcore.readers import open_source
from tagcore.readers.cards import known_cards, recognise
from tests.tagcore.readers.helpers import read

pytestmark = pytest.mark.data
MULAN = ["bibtex", "delicious", "enron", "medical", "emotions"]


def matrices(path: Path | str) -> tuple[sp.csr_matrix, sp.csr_matrix, list[str]]:
    source = open_source(path)
    words, tags, splits = [], [], []
    for block in source.blocks():
        words.append(block.words)
        tags.append(tag_matrix(block.taggings, block.documents.num_rows, len(source.tags)))
        splits += block.documents["split"].to_pylist()
    return sp.vstack(words).tocsr(), sp.vstack(tags).tocsr(), splits


def plain_arff(path: Path) -> tuple[list[str], list[dict[int, float]]]:
    """attribute names and rows by splitting strings; enough for files without quotes."""
    names, rows, data = [], [], False
    with gzip.open(path, "rt") as file:
        for line in map(str.strip, file):
            if data and line.startswith("{"):
                pairs = (pair.split() for pair in line[1:-1].split(",")) if line != "{}" else ()
                rows.append({int(k): float(v) for k, v in pairs})
            elif data and line:
                rows.append({k: float(v) for k, v in enumerate(line.split(",")) if float(v)})
            elif line.lower().startswith("@attribute"):
                names.append(line.split()[1])
            elif line.lower() == "@data":
                data = True
    return names, rows


@pytest.mark.parametrize("name", MULAN)
def test_mulan_sets_against_plain_splitting(shared_data: Path, name: str) -> None:
    words, tags, splits = matrices(shared_data / name)  # raises unless the counts are those of the card
    expected = []
    for part in ("train", "test"):
        names, rows = plain_arff(shared_data / name / f"{name}-{part}.arff.gz")
        expected += rows
        assert splits.count(part) == len(rows)
    n_words = words.shape[1]  # in these files the tags come last
    assert len(names) == n_words + tags.shape[1]
    dense = np.hstack([words.toarray(), tags.toarray()])
    theirs = np.zeros_like(dense)
    for row, cells in enumerate(expected):
        for attribute, value in cells.items():
            theirs[row, attribute] = value
    np.testing.assert_array_equal(dense, theirs)
    source = open_source(shared_data / name)
    prefix = recognise(shared_data / name).options.get("tag_prefix", "")
    assert [*(source.words or ()), *(prefix + tag for tag in source.tags)] == names


def test_eurlex_against_scikit_learn(shared_data: Path) -> None:
    words, tags, splits = matrices(shared_data / "eurlex4k")
    with gzip.open(shared_data / "eurlex4k" / "eurlex_test.txt.gz") as file:
        file.readline()
        theirs, labels = load_svmlight_file(io.BytesIO(file.read()), n_features=5000, multilabel=True, zero_based=True)
    first = splits.index("test")
    assert abs(words[first:] - theirs.astype(np.float32)).max() == 0
    assert tags[first:].sum() == sum(map(len, labels))
    assert all(set(tags[first + i].indices) == set(map(int, labels[i])) for i in range(0, len(labels), 50))
    assert words.max() == pytest.approx(45781, abs=1)


@pytest.mark.parametrize("name", ["biology", "cooking", "crypto"])
def test_stackexchange_against_the_csv_module(shared_data: Path, name: str) -> None:
    path = shared_data / "stackexchange" / f"{name}.csv.zip"
    with zipfile.ZipFile(path) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read(f"{name}.csv").decode(), newline="")))
    got = read(path)
    assert got.source.card is recognise(f"{shared_data}/stackexchange:{name}")
    assert got.ids == [row["id"] for row in rows]
    assert got.tags == [row["tags"].split() for row in rows]
    assert [d["title"] for d in got.documents] == [row["title"] for row in rows]
    assert not any("<p>" in d["text"] for d in got.documents)


def test_every_set_of_a_card_is_tested_here() -> None:
    here = {*MULAN, "eurlex4k", "biology", "cooking", "crypto"}
    of_several_files = {"reuters21578", "rcv1-topics", "citeulike-t"}  # test_known_text_sets.py
    not_to_be_had = {"rcv1-vectors", "rcv1-industries", "rcv1-regions", "bibsonomy", "citeulike-a", "hetrec-delicious"}
    # test_known_tables.py
    of_numbers = {"slashdot", "rcv1-small", "rcv1-subset1", "letter", "penbased", "satimage", "segment", "vowel"}
    assert {card.name for card in known_cards()} == here | of_several_files | of_numbers | not_to_be_had
