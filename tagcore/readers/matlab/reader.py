"""MATLAB files of multi-label data: a matrix of words and one of tags, each with documents as rows or as columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.corpus import Block, Names
from tagcore.readers.bad_rows import ReadError, shorten
from tagcore.readers.input_files import InputFile, ReadLimits
from tagcore.readers.matlab.file import Damaged, Shape, Variable, read_variables, shape_text
from tagcore.readers.source import Source
from tagcore.readers.sparse_rows import MOST_COLUMNS, SparseRows

_DATA = ("data", "x", "features", "fea", "instances")
_LABELS = ("target", "targets", "labels", "label", "y")
_SIDES = ("rows", "columns")
_ROWS = 4096


@dataclass(frozen=True, kw_only=True)
class MatlabOptions(ReadLimits):
    """`data` and `labels`: the variables, by default of the usual names, also as a pair train_data and test_data.

    `documents`: "rows" or "columns", what is one document in the data; `label_documents`: the same for the labels.
    Both are found out where only one way fits. `memory_bytes`: what a file may take.
    """

    data: str | None = None
    labels: str | None = None
    documents: str | None = None
    label_documents: str | None = None
    memory_bytes: int = 4 << 30

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("documents", "label_documents"):
            if getattr(self, name) not in (None, *_SIDES):
                raise ValueError(f'{name} is {getattr(self, name)!r}, expected "rows" or "columns"')
        if type(self.memory_bytes) is not int or self.memory_bytes < 1:
            raise ValueError(f"memory_bytes is {self.memory_bytes!r}, expected a whole number of at least 1")


class _Pair(NamedTuple):
    """Variables of one file that belong together; the file knows their part of the split."""

    file: InputFile
    data: str
    labels: str


class Matlab(Source):
    """Documents of MATLAB files: each has the tags that are 1 in its labels and not those that are 0 or -1.

    Words are called w0, w1, ... and tags 0, 1, ...; ids are the numbers of the documents, from 1, and so are the lines
    in messages. A file is read into memory as a whole.
    """

    format = "matlab"
    Options = MatlabOptions

    def _raw_blocks(self) -> Iterator[Block]:
        for file in self.files:
            variables = read_variables(file, self.options, self.options.memory_bytes)
            pairs = _pairs(file, variables, self.options)
            for pair in pairs:
                prefix = self._id_prefix(file) if len(pairs) == 1 else f"{self._id_prefix(file)}{pair.file.split}:"
                yield from self._read(pair, *self._matrices(variables, pair), prefix)

    def _matrices(self, variables: Mapping[str, Variable], pair: _Pair) -> tuple[Any, Any]:
        """Reads (documents × words, documents × tags), dense or as CSR."""
        both = variables[pair.data], variables[pair.labels]
        turned = _turned(pair, (both[0].shape, both[1].shape), self.options)
        sizes = tuple(v.shape[0 if turn else 1] for v, turn in zip(both, turned, strict=True))
        n, most = both[0].shape[turned[0]], self.options.memory_bytes // 8
        if n > most:  # of a sparse matrix the file need not hold as much
            raise ReadError(f"{pair.file.name}: {n} documents, the limit memory_bytes allows {most}")
        try:
            data, labels = (_oriented(v.read(), turn) for v, turn in zip(both, turned, strict=True))
        except Damaged as error:
            raise ReadError(f"{pair.file.name}: cut off or damaged ({error})") from None
        self._settle(pair.file, sizes)
        return data, labels

    def _settle(self, file: InputFile, sizes: tuple[int, ...]) -> None:
        """Names so many words and tags, or checks that all files have as many."""
        what = f"{file.name}: {sizes[0]} words and {sizes[1]} tags"
        if not all(1 <= n <= MOST_COLUMNS for n in sizes):
            raise ReadError(f"{what}, expected from 1 to {MOST_COLUMNS} of each")
        if self.words is None:
            self.words, self.tags = Names(f"w{i}" for i in range(sizes[0])), Names(map(str, range(sizes[1])))
        elif sizes != (len(self.words), len(self.tags)):
            raise ReadError(f"{what}, expected {len(self.words)} and {len(self.tags)} as in what was read before")

    def _read(self, pair: _Pair, data: Any, labels: Any, prefix: str) -> Iterator[Block]:
        for start in range(0, data.shape[0], _ROWS):
            given = sp.csr_matrix(data[start : start + _ROWS])
            with np.errstate(over="ignore"):
                X = given.astype(np.float32)
            Y = sp.csr_matrix(labels[start : start + _ROWS]).astype(np.float64)
            flaws = {
                **_flaws(Y, ~np.isin(Y.data, (-1, 0, 1)), f"0 or 1 (or -1 for 0) in {pair.labels}"),
                **_flaws(given, ~np.isfinite(X.data), f"a finite number of single precision in {pair.data}"),
            }
            for row, (value, expected) in sorted(flaws.items()):
                self._rejected_rows.add(pair.file.name, start + row + 1, value, expected, b"")
            rows = np.setdiff1d(np.arange(X.shape[0]), list(flaws))
            if len(rows):
                X, Y = X[rows], sp.csr_matrix(Y[rows] > 0)
                X.eliminate_zeros()
                none = np.empty(0, np.int64)
                tagged = SparseRows(rows, X.indptr, X.indices, X.data, Y.indptr, Y.indices, none, none)
                yield tagged.block(pair.file, start + 1, prefix, X.shape[1])


def _oriented(matrix: Any, turn: bool) -> Any:
    """Turns a matrix so that documents are its rows."""
    matrix = matrix.T if turn else matrix
    if not sp.issparse(matrix):
        return matrix
    rows = matrix.tocsr()
    rows.sort_indices()
    if not rows.has_canonical_format:
        raise Damaged("a sparse matrix has an entry twice")
    return rows


def _flaws(rows: sp.csr_matrix, wrong: np.ndarray, expected: str) -> dict[int, tuple[float, str]]:
    """Finds the first wrong value of every row that has one, and what was expected."""
    places = np.flatnonzero(wrong)
    of_row, firsts = np.unique(np.searchsorted(rows.indptr, places, side="right") - 1, return_index=True)
    places = places[firsts]
    columns, values = rows.indices[places].tolist(), rows.data[places].tolist()
    return {r: (v, f"{expected}, column {c + 1}") for r, c, v in zip(of_row.tolist(), columns, values, strict=True)}


def _pairs(file: InputFile, variables: Mapping[str, Variable], options: MatlabOptions) -> list[_Pair]:
    """Finds what belongs together: the variables that were named, or those of the usual names."""
    data, labels = _pick(file, variables, options.data, "", _DATA), _pick(file, variables, options.labels, "", _LABELS)
    if data and labels:
        return [_Pair(file, data, labels)]
    pairs = []
    for part in ("train", "test"):
        x, y = _pick(file, variables, None, f"{part}_", _DATA), _pick(file, variables, None, f"{part}_", _LABELS)
        if x and y:
            pairs.append(_Pair(replace(file, split=part), x, y))
    if len(pairs) == 2 and options.data is None and options.labels is None:
        return pairs
    raise ReadError(
        f"{file.name}: data and labels not found by their usual names; {_listed(variables)}: "
        "name them by data=... and labels=..."
    )


def _pick(
    file: InputFile, variables: Mapping[str, Variable], named: str | None, prefix: str, usual: Sequence[str]
) -> str | None:
    """Picks the variable that was named, or the only one with a usual name, where there is one."""
    if named is not None:
        if named not in variables:
            raise ReadError(f"{file.name}: no matrix of real numbers is called {named!r}; {_listed(variables)}")
        return named
    names = [name for name in variables if name.lower() in {prefix + usual_name for usual_name in usual}]
    if len(names) > 1:
        option = "data" if usual is _DATA else "labels"
        raise ReadError(f"{file.name}: {' or '.join(names)}? Name the right one by {option}=...")
    return names[0] if names else None


def _listed(variables: Mapping[str, Variable]) -> str:
    shown = [f"{shorten(variable.name)} ({shape_text(variable.shape)})" for variable in list(variables.values())[:20]]
    return f"its matrices of real numbers are {', '.join(shown)}" if shown else "it has no matrices of real numbers"


def _turned(pair: _Pair, shapes: tuple[Shape, Shape], options: MatlabOptions) -> tuple[bool, bool]:
    """Whether documents are columns, in the data and in the labels: the only way in which both have as many."""
    fits = [
        (turn_data, turn_labels)
        for turn_data, turn_labels in product((False, True), repeat=2)
        if shapes[0][turn_data] == shapes[1][turn_labels]
        and options.documents in (None, _SIDES[turn_data])
        and options.label_documents in (None, _SIDES[turn_labels])
    ]
    if len(fits) == 1:
        return fits[0]
    what = f"{pair.file.name}: {pair.data} is {shape_text(shapes[0])} and {pair.labels} {shape_text(shapes[1])}"
    if not fits:
        raise ReadError(f"{what}, expected as many documents in both")
    raise ReadError(f"{what}: whether documents are rows or columns is not clear; say documents= and label_documents=")
