"""The numeric matrices of a MATLAB file of version 5 to 7, within limits.

scipy's loader follows types and indices as they stand in the file and crashes on a hostile one, hence this one. The
format is MathWorks' "MAT-File Format": elements of (type, size, data), compressed ones and matrices made of elements.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.readers.bad_rows import ReadError, shorten
from tagcore.readers.input_files import CHUNK, InputFile, ReadLimits, check_expansion, read_chunks

_MAGIC, _HEADER, _VERSION = b"MATLAB ", 128, 0x0100
_ORDERS = {b"IM": "<", b"MI": ">"}
_MATRIX, _COMPRESSED, _INT32 = 14, 15, 5
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_SPARSE, _DENSE, _COMPLEX = 5, range(6, 16), 0x0800
Shape = tuple[int, int]


class Damaged(Exception):
    """Bytes that are not as the format demands, before it is known in which file."""


class Element(NamedTuple):
    """Bytes of one type, the unit that a file is made of."""

    kind: int
    data: memoryview


@dataclass(frozen=True)
class Variable:
    """A numeric matrix with two sides; `parts` are its values, behind row indices and column bounds where sparse."""

    name: str
    shape: Shape
    order: str
    sparse: bool
    parts: list[Element]

    def read(self) -> np.ndarray | sp.csc_matrix:
        """Makes the matrix; raises Damaged where its numbers do not fit its shape."""
        if not self.sparse:
            values = self._numbers(self.parts[0])
            if values.size != self.shape[0] * self.shape[1]:
                raise Damaged(f"{values.size} numbers in {self.name}, which is {shape_text(self.shape)}")
            return values.reshape(self.shape, order="F")
        rows, bounds = (self._numbers(part).astype(np.int64) for part in self.parts[:2])
        values = self._numbers(self.parts[2])
        rises = len(bounds) == self.shape[1] + 1 and bounds[0] == 0 and (np.diff(bounds) >= 0).all()
        used = rows[: bounds[-1]] if rises else rows
        if not rises or bounds[-1] > min(len(rows), len(values)) or ((used < 0) | (used >= self.shape[0])).any():
            raise Damaged(f"the indices of {self.name} point outside of it")
        return sp.csc_matrix((values[: len(used)], used, bounds), shape=self.shape)

    def _numbers(self, part: Element) -> np.ndarray:
        if part.kind not in _NUMBERS:
            raise Damaged(f"element of type {part.kind} as numbers of {self.name}")
        kind = np.dtype(f"{self.order}{_NUMBERS[part.kind]}")
        numbers = np.frombuffer(part.data, kind, len(part.data) // kind.itemsize)
        return numbers.astype(kind.newbyteorder("="))


def read_variables(file: InputFile, limits: ReadLimits, most: int) -> dict[str, Variable]:
    """Reads the matrices by name, held in memory, expanded, in at most `most` bytes; other variables are left out."""
    variables: dict[str, Variable] = {}
    raw = _whole(file, limits, most)
    try:
        order = _order(raw)
        for body in _bodies(file, raw, order, limits, most):
            variable = _variable(body, order)
            if variable is None:
                continue
            if variable.name in variables:
                raise Damaged(f"two variables are called {shorten(variable.name)}")
            variables[variable.name] = variable
    except (Damaged, zlib.error, struct.error, UnicodeDecodeError) as error:
        raise ReadError(f"{file.name}: cut off or damaged ({error})") from None
    return variables


def shape_text(shape: Shape) -> str:
    """Writes a shape as messages show it."""
    return f"{shape[0]} × {shape[1]}"


def _whole(file: InputFile, limits: ReadLimits, most: int) -> bytes:
    parts, size = [], 0
    for part in read_chunks(file, limits):
        size += len(part)
        if size > most:
            raise ReadError(f"{file.name}: longer than {most} bytes, the limit memory_bytes")
        parts.append(part)
    raw = b"".join(parts)
    if not raw.startswith(_MAGIC) or len(raw) < _HEADER or raw[126:128] not in _ORDERS:
        raise ReadError(f"{file.name}: not a MATLAB file of version 5 to 7")
    return raw


def _order(raw: bytes) -> str:
    order = _ORDERS[raw[126:128]]
    version = struct.unpack_from(f"{order}H", raw, 124)[0]
    if version != _VERSION:
        raise Damaged(f"version {version:#06x}; 7.3 is HDF5, expected 5 to 7: save with -v7")
    return order


def _bodies(file: InputFile, raw: bytes, order: str, limits: ReadLimits, most: int) -> Iterator[memoryview]:
    """Reads the bytes of every matrix, expanded."""
    room = most - len(raw)
    for element in _elements(memoryview(raw)[_HEADER:], order, padded=False):
        if element.kind == _COMPRESSED:
            data = _inflated(file, element.data, limits, room)
            room -= len(data)
            inside = list(_elements(memoryview(data), order, padded=False))
            if len(inside) != 1:
                raise Damaged(f"{len(inside)} compressed elements in one")
            element = inside[0]
        if element.kind != _MATRIX:
            raise Damaged(f"element of type {element.kind} among the variables")
        yield element.data


def _elements(data: memoryview, order: str, padded: bool = True) -> Iterator[Element]:
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        start, after = at + 8, at + 8 + (-(-size // 8) * 8 if padded else size)
        if kind >> 16:  # a small element: its size beside its type, its data in place of the size
            kind, size, start, after = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        if start + size > len(data) or (start == at + 4 and size > 4):
            raise Damaged(f"an element of {size} bytes where {len(data) - start} are left")
        yield Element(kind, data[start : start + size])
        at = after


def _inflated(file: InputFile, packed: memoryview, limits: ReadLimits, room: int) -> bytes:
    inflater, parts, total, rest = zlib.decompressobj(), list[bytes](), 0, bytes(packed)
    while not inflater.eof:
        part = inflater.decompress(rest, CHUNK)
        rest = inflater.unconsumed_tail
        parts.append(part)
        total += len(part)
        check_expansion(file, total, len(packed), limits)
        if total > room:
            raise ReadError(f"{file.name}: expands beyond the limit memory_bytes")
        if not part and not inflater.eof:
            raise Damaged("a compressed element ends too early")
    return b"".join(parts)


def _variable(body: memoryview, order: str) -> Variable | None:
    """Reads a matrix, or None where it is not one of real numbers, has no name, or not two sides."""
    parts = _elements(body, order)
    flags, sides, name = next(parts, None), next(parts, None), next(parts, None)
    if not (flags and sides and name) or len(flags.data) < 8 or sides.kind != _INT32:
        raise Damaged("a variable without flags, sides or name")
    kind = struct.unpack_from(f"{order}I", flags.data)[0]
    shape = np.frombuffer(sides.data, f"{order}i4", len(sides.data) // 4).tolist()
    numeric = kind & 0xFF == _SPARSE or kind & 0xFF in _DENSE
    if not numeric or kind & _COMPLEX or len(shape) != 2 or not len(name.data):
        return None
    if min(shape) < 0:
        raise Damaged(f"a matrix of {shape[0]} × {shape[1]}")
    sparse = kind & 0xFF == _SPARSE
    values = list(parts)
    if len(values) < (3 if sparse else 1):
        raise Damaged("a matrix without its numbers")
    return Variable(bytes(name.data).decode(), (shape[0], shape[1]), order, sparse, values)
