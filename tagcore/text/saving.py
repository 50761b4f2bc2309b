"""A fitted vectoriser on disk: `vectoriser.json` (parameters, counts) and `terms.parquet` (one row per column)."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tagcore.text.parameters import check_parameters

FORMAT = 1
HEAD, TERMS = "vectoriser.json", "terms.parquet"
# what vectorisers stored before had, unnamed
_LATER: dict[str, Any] = {"fields": None, "own_columns": [], "max_features_by": "tf", "hashed_columns": None}
_COUNTS = ("n_terms", "n_documents", "n_features_in")


class VectoriserError(ValueError):
    """A vectoriser that cannot be written as plain data, or files that are no vectoriser."""


class FittedVectoriser(NamedTuple):
    """The fitted state of a vectoriser."""

    terms: pa.Array
    df: np.ndarray
    idf: np.ndarray
    n_documents: int
    columns: np.ndarray  # the input column of each term, where counts come in
    n_features_in: int


def write_vectoriser(folder: Path, params: dict[str, Any], fitted: FittedVectoriser) -> None:
    """Writes both files, into a folder that is made if need be."""
    head = {
        "format": FORMAT,
        "n_terms": len(fitted.terms),
        "n_documents": int(fitted.n_documents),
        "n_features_in": int(fitted.n_features_in),
        "fixed_vocabulary": params["vocabulary"] is not None,
        "params": {name: _plain(name, value) for name, value in params.items() if name != "vocabulary"},
    }
    table = pa.table({"term": fitted.terms, "df": fitted.df, "idf": fitted.idf, "column": fitted.columns})
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / TERMS, compression="zstd", use_dictionary=["df", "idf"])  # others never repeat
    (folder / HEAD).write_text(json.dumps(head, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_vectoriser(folder: Path, names: Collection[str]) -> tuple[dict[str, Any], FittedVectoriser]:
    """Reads (parameters, fitted state); `names` are the parameters to expect."""
    params, head = read_params(folder, names)
    fitted = _read_terms(folder / TERMS, head)
    params["vocabulary"] = fitted.terms.to_pylist() if head.get("fixed_vocabulary") else None
    return params, fitted


def read_params(folder: Path, names: Collection[str] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Reads (parameters, all of the head) without the terms; `names` are the parameters to expect, if not any."""
    head = _read_head(folder / HEAD)
    return _read_params(folder / HEAD, head, head.get("params", ()) if names is None else names), head


def count_terms(folder: Path) -> int:
    """How many columns the rows of a stored vectoriser have, without reading its terms."""
    return _read_head(folder / HEAD)["n_terms"]


def _plain(name: str, value: Any) -> Any:
    """Gives a parameter as JSON can hold it."""
    if name == "dtype":
        return np.dtype(value).name
    if callable(value):
        raise VectoriserError(f"{name}={value!r:.80}: a function cannot be saved, for no code is loaded from files")
    if isinstance(value, np.generic):
        return value.item()
    if name == "fields" and value is not None:
        return {field: float(weight) for field, weight in value.items()}
    if name in ("stop_words", "ngram_range", "own_columns") and value is not None and not isinstance(value, str):
        return [_plain("", item) for item in value]
    return value


def _read_head(path: Path) -> dict[str, Any]:
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise VectoriserError(f"{path}: not readable as JSON: {error}") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        version = head.get("format") if isinstance(head, dict) else type(head).__name__
        raise VectoriserError(f"{path}: format {version!r}, expected {FORMAT}")
    for name in _COUNTS:
        if not isinstance(head.get(name), int) or head[name] < 1:
            raise VectoriserError(f"{path}: {name} is {head.get(name)!r}, expected a number from 1")
    return head


def _read_params(path: Path, head: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    params = head.get("params")
    expected = set(names) - {"vocabulary"}
    if isinstance(params, dict):
        params = _LATER | params
    if not isinstance(params, dict) or set(params) != expected:
        odd = sorted(expected ^ set(params)) if isinstance(params, dict) else params
        raise VectoriserError(f"{path}: params do not have the expected names; missing or unknown: {odd}")
    try:
        check_parameters(params)
    except ValueError as error:
        raise VectoriserError(f"{path}: {error}") from None
    shapes = {"ngram_range": tuple(params["ngram_range"]), "own_columns": tuple(params["own_columns"])}
    return params | shapes | {"dtype": np.dtype(params["dtype"]).type}


def _read_terms(path: Path, head: dict[str, Any]) -> FittedVectoriser:
    try:
        with pq.ParquetFile(path) as file:  # `read_table` imports pandas
            table = file.read()
        schema = pa.schema(
            [("term", pa.large_string()), ("df", pa.int64()), ("idf", pa.float64()), ("column", pa.int64())]
        )
        table = table.select(schema.names).cast(schema).combine_chunks()
        table.validate(full=True)
    except (OSError, pa.ArrowException, KeyError) as error:
        raise VectoriserError(f"{path}: not readable as a table of term, df, idf, column: {error}") from None
    n_terms, n_documents, width = (head[name] for name in _COUNTS)
    if table.num_rows != n_terms:
        raise VectoriserError(f"{path}: {table.num_rows} terms, {HEAD} says {n_terms}")
    for name in table.column_names:
        if table[name].null_count:
            raise VectoriserError(f"{path}: column {name} holds nulls")
    terms = table["term"].chunk(0)
    df, idf, columns = (table[name].to_numpy() for name in ("df", "idf", "column"))
    _require(path, terms, "df", df, (df >= 0) & (df <= n_documents), f"0 to {n_documents}")
    _require(path, terms, "idf", idf, np.isfinite(idf), "a finite number")
    in_order = np.diff(columns, prepend=-1) > 0
    _require(path, terms, "column", columns, in_order & (columns < width), f"growing numbers below {width}")
    if len(terms.unique()) < n_terms:
        raise VectoriserError(f"{path}: {n_terms - len(terms.unique())} of {n_terms} terms are there twice")
    return FittedVectoriser(terms, df, idf, n_documents, columns, width)


def _require(path: Path, terms: pa.Array, name: str, values: np.ndarray, right: np.ndarray, expected: str) -> None:
    if not right.all():
        row = int(np.flatnonzero(~right)[0])
        raise VectoriserError(
            f"{path}: row {row} ({terms[row].as_py()!r:.80}): {name} is {values[row]}, expected {expected}"
        )
