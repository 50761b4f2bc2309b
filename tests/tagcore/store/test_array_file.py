"""Files of arrays against those that safetensors itself writes, and reads."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tagcore.store.array_file import write_array_file

TYPES = ("u8", "i8", "f8", "f4", "u4", "i4", "f2", "u2", "i2", "i1", "u1", "?")
SHAPES = ((3, 4), (0,), (), (5, 0), (7,), (700, 500))


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    drawn = {f"{kind} {shape}": np.asarray(100 * rng.random(shape)).astype(kind) for kind in TYPES for shape in SHAPES}
    return {**drawn, 'a "name"|ü': np.arange(3)}


@pytest.mark.parametrize("stored", [arrays(), {}, {"z": np.zeros(3), "a": np.ones(2, np.float32)}])
def test_the_bytes_are_those_of_safetensors(tmp_path, stored):
    write_array_file(tmp_path / "ours", stored)
    save_file(stored, tmp_path / "theirs")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_arrays_that_lie_otherwise_are_stored_row_by_row(tmp_path):
    columns = np.arange(12.0).reshape(3, 4).T
    write_array_file(tmp_path / "file", {"columns": columns, "every second": np.arange(10)[::2]})
    read = load_file(tmp_path / "file")
    np.testing.assert_array_equal(read["columns"], columns)
    np.testing.assert_array_equal(read["every second"], np.arange(10)[::2])
