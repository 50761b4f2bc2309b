"""Files of arrays, as safetensors: written in pieces, and mapped where a model is read to be replaced by another.

A write of a hundred megabytes at once takes its cache in pages of 2 MiB, which a virtual machine may have to get from
its host first: up to ten times the CPU. Memory that is not asked for need not be got at all.
"""

import json
from pathlib import Path

import numpy as np

_NAMES = {  # of types, in the order in which their arrays follow one another
    "uint64": "U64", "int64": "I64", "float64": "F64", "float32": "F32", "uint32": "U32", "int32": "I32",
    "float16": "F16", "uint16": "U16", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_TYPES = {told: name for name, told in _NAMES.items()}
_ORDER = list(_NAMES)
_PIECE = 2**20  # bytes


def write_array_file(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Writes arrays row by row, byte for byte as `safetensors.numpy.save_file` does."""
    names = sorted(arrays, key=lambda name: (_ORDER.index(arrays[name].dtype.name), name))
    head, end = {}, 0
    for name in names:
        values = arrays[name]
        start, end = end, end + values.nbytes
        head[name] = {"dtype": _NAMES[values.dtype.name], "shape": values.shape, "data_offsets": (start, end)}
    told = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()
    told += b" " * (-len(told) % 8)
    with open(path, "wb") as file:
        file.write(len(told).to_bytes(8, "little") + told)
        for name in names:
            content = np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8)
            for first in range(0, content.size, _PIECE):
                file.write(content[first : first + _PIECE].data)


def map_array_file(path: Path) -> dict[str, np.ndarray]:
    """Maps the arrays of a file that was found whole: they lie in its pages; a page that is written to is copied."""
    content = np.asarray(np.memmap(path, np.uint8, "c"))
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    head = json.loads(content[8:start].tobytes())
    arrays = {}
    for name, one in head.items():
        first, end = one["data_offsets"]
        arrays[name] = content[start + first : start + end].view(_TYPES[one["dtype"]]).reshape(one["shape"])
    return arrays
