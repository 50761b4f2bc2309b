"""Files of arrays against those that safetensors itself writes, and reads."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tagcore.store.array_file import map_array_file, write_array_file

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


def test_mapped_arrays_are_the_stored_ones_and_never_change_them(tmp_path):
    stored, path = arrays(), tmp_path / "file"
    write_array_file(path, stored)
    before, mapped = path.read_bytes(), map_array_file(path)
    assert set(mapped) == set(stored)
    for name, values in mapped.items():
        assert (values.dtype, values.shape) == (stored[name].dtype, stored[name].shape)
        assert values.flags.aligned
        assert values.flags.writeable
        np.testing.assert_array_equal(values, stored[name])
        values[...] = 0
    assert path.read_bytes() == before
