"""Arrow columns straight from arrays of bytes."""

import numpy as np
import pyarrow as pa


def numbered_names(prefix: str, numbers: np.ndarray, width: int) -> pa.Array:
    """Gives names such as user000042; longer than `width` digits where a number is."""
    width = max(width, len(str(numbers.max(initial=0))))
    digits = numbers[:, None] // 10 ** np.arange(width - 1, -1, -1) % 10 + ord("0")
    text = np.empty((numbers.size, len(prefix) + width), np.uint8)
    text[:, : len(prefix)] = np.frombuffer(prefix.encode(), np.uint8)
    text[:, len(prefix) :] = digits
    return string_column(np.arange(numbers.size + 1) * text.shape[1], text)


def string_column(offsets: np.ndarray, text: np.ndarray) -> pa.Array:
    """Cuts UTF-8 text at `offsets`, which 32 bits must hold."""
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), offsets.size - 1, buffers)
