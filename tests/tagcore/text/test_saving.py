"""Vectorisers on disk: what comes back, and what damage is called."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from tagcore.text import Vectoriser
from tagcore.text.parameters import PythonAnalyserWarning
from tagcore.text.saving import VectoriserError
from tests.tagcore.text.peers import assert_same_rows

TEXTS = ["The cat sat on the mat", "cats and dogs ΑΣ été", "", "a dog sat, running", "中文 文字 cat"]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"stem": "english", "stop_words": ["the", "on"], "ngram_range": (1, 2), "min_df": 1, "max_df": 0.9},
        {"vocabulary": {"sat": 0, "cat": 2, "dog": 1}, "dtype": np.float64, "norm": None},
        {"max_features": np.int64(4), "use_idf": False, "binary": True, "stop_words": ("the",)},
        {"lowercase": False, "sublinear_tf": True, "smooth_idf": False},
        {"analyzer": "char_wb", "ngram_range": (2, 4), "max_features": 9, "max_features_by": "df"},
        {"hashed_columns": 40, "ngram_range": (1, 2)},
    ],
)
def test_round_trip(tmp_path, params):
    ours = Vectoriser(**params).fit(TEXTS)
    ours.save(tmp_path / "new" / "folder")
    other = Vectoriser.load(tmp_path / "new" / "folder")
    assert other.terms_.tolist() == ours.terms_.tolist()
    assert other.idf_.tolist() == ours.idf_.tolist()
    assert other.idf_.dtype == ours.idf_.dtype
    assert other.df_.tolist() == ours.df_.tolist()
    assert other.n_documents_ == ours.n_documents_
    assert_same_rows(other.transform(TEXTS), ours.transform(TEXTS))
    # a loaded one can be fitted anew
    assert_same_rows(other.fit_transform(TEXTS), ours.transform(TEXTS))


def test_parameters_come_back_as_they_were(tmp_path):
    params = {"min_df": 1, "max_df": 1.0, "ngram_range": (1, 3), "stop_words": ["the"], "stem": "porter"}
    Vectoriser(**params).fit(TEXTS).save(tmp_path)
    loaded = Vectoriser.load(tmp_path).get_params()
    assert loaded == Vectoriser(**params).get_params()
    assert [type(loaded[name]) for name in ("min_df", "max_df", "ngram_range")] == [int, float, tuple]


def test_python_analysers_come_back_but_functions_do_not(tmp_path):
    with pytest.warns(PythonAnalyserWarning):
        ours = Vectoriser(analyzer="char", ngram_range=(1, 2)).fit(TEXTS)
    ours.save(tmp_path)
    assert_same_rows(Vectoriser.load(tmp_path).transform(TEXTS), ours.transform(TEXTS))
    with pytest.warns(PythonAnalyserWarning):
        ours = Vectoriser(analyzer=str.split).fit(TEXTS)
    with pytest.raises(VectoriserError, match=r"analyzer=.*a function cannot be saved"):
        ours.save(tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


def test_counted_columns_come_back(tmp_path):
    counts = sp.csr_matrix([[1, 0, 3], [2, 0, 0]])
    ours = Vectoriser().fit_counts([counts], ["b", "never", "a"])
    ours.save(tmp_path)
    assert_same_rows(Vectoriser.load(tmp_path).transform_counts(counts), ours.transform_counts(counts))


def test_no_pickle_on_disk(tmp_path):
    Vectoriser().fit(TEXTS).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["terms.parquet", "vectoriser.json"]
    json.loads((tmp_path / "vectoriser.json").read_text())
    assert pq.read_schema(tmp_path / "terms.parquet").names == ["term", "df", "idf", "column"]


@pytest.fixture
def folder(tmp_path):
    Vectoriser().fit(["aa bb", "bb cc"]).save(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": 2}, "vectoriser.json: format 2, expected 1"),
        ({"n_terms": 4}, "terms.parquet: 3 terms, vectoriser.json says 4"),
        ({"n_terms": "3"}, "vectoriser.json: n_terms is '3', expected a number"),
        ({"n_documents": 1}, r"terms.parquet: row 1 \('bb'\): df is 2, expected 0 to 1"),
        ({"n_features_in": 2}, r"terms.parquet: row 2 \('cc'\): column is 2, expected growing numbers below 2"),
        ({"params": {}}, "vectoriser.json: params .* missing or unknown: .*'analyzer'"),
        ({"params": None}, "vectoriser.json: params "),
    ],
)
def test_a_wrong_head_is_named(folder, change, complaint):
    path = folder / "vectoriser.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(VectoriserError, match=complaint):
        Vectoriser.load(folder)


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("norm", "max", "vectoriser.json: norm='max': expected None, 'l1' or 'l2'"),
        ("dtype", "object", "vectoriser.json: dtype='object': expected float32 or float64"),
        ("ngram_range", [0, 1], "vectoriser.json: ngram_range="),
        ("stem", "klingon", "vectoriser.json: stem='klingon': expected None or a Snowball language"),
    ],
)
def test_a_wrong_parameter_is_named(folder, name, value, complaint):
    path = folder / "vectoriser.json"
    head = json.loads(path.read_text())
    head["params"][name] = value
    path.write_text(json.dumps(head))
    with pytest.raises(VectoriserError, match=complaint):
        Vectoriser.load(folder)


@pytest.mark.parametrize(
    ("column", "values", "complaint"),
    [
        ("idf", [1.0, np.nan, 1.0], r"row 1 \('bb'\): idf is nan, expected a finite number"),
        ("idf", [1.0, None, 1.0], "column idf holds nulls"),
        ("idf", ["x", "y", "z"], "not readable as a table of term, df, idf, column"),
        ("df", [-1, 2, 1], r"row 0 \('aa'\): df is -1, expected 0 to 2"),
        ("term", ["aa", "bb", "aa"], "1 of 3 terms are there twice"),
        ("term", ["aa", None, "cc"], "column term holds nulls"),
        ("column", [0, 2, 1], r"row 2 \('cc'\): column is 1, expected growing numbers below 3"),
    ],
)
def test_wrong_terms_are_named(folder, column, values, complaint):
    path = folder / "terms.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index(column), column, pa.array(values)), path)
    with pytest.raises(VectoriserError, match=f"terms.parquet: .*{complaint}"):
        Vectoriser.load(folder)


@pytest.mark.parametrize("name", ["terms.parquet", "vectoriser.json"])
def test_missing_cut_and_garbled_files_are_named(folder, name):
    path = folder / name
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"\xff\x00garbage", None):
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        with pytest.raises(VectoriserError, match=name):
            Vectoriser.load(folder)


def test_a_missing_column_is_named(folder):
    path = folder / "terms.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["df"]), path)
    with pytest.raises(VectoriserError, match=r"terms\.parquet: .*df"):
        Vectoriser.load(folder)
