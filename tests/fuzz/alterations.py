"""Ways to alter a stored model: bytes, headers, types, shapes and values of its arrays, facts and parameters."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load, save

BITS = {"BOOL": 8, "BF16": 16} | {kind + str(bits): bits for kind in "IUF" for bits in (8, 16, 32, 64)}
TYPES = sorted(set(BITS) - {"F8"})
DTYPES = ("i1", "u1", "i2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "?")
WHOLE = (-1, 0, 1, 2, 7, 127, 2**15, 2**31 - 1, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
REAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e-45, 1e-300, 3e38, -3e38, 1e300, -1e300, 60.0)
PLAIN: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, -1, 3, 10**3, 10**6, 10**7, 10**9, 2**31, 2**63, 10**30, 10**400),
    *(0.0, 0.5, 1.0, -0.5, 1e-9, 1e-300, 1e30, 1e308, -1e308, float("nan"), float("inf"), float("-inf")),
    *(
        "",
        "a",
        "float64",
        "float32",
        "linear",
        "rbf",
        "independent",
        "multi-class",
        "coupled",
        "share",
        "gibbs",
        "mask",
    ),
    *("running", "information_gain", "squared", "logistic", [], [0], [0.1, 0.2], [-1, 0], [None], ["a"], [[1], 2]),
    *({}, {"a": 1}, [0] * 12, [-1] * 12, [1e300] * 12, [10**30] * 12, list(range(1, 13)), [1] * 12),
)


class Stored(NamedTuple):
    """The two files of a model folder."""

    state: bytes
    head: bytes


@dataclass
class Draft:
    """A stored model that is being altered: arrays and head are written out, unless bytes were altered already."""

    rng: np.random.Generator
    arrays: dict[str, np.ndarray]
    head: Any
    state: bytes | None = None
    head_bytes: bytes | None = None

    def one_of(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def array(self) -> str:
        return self.one_of(sorted(self.arrays))

    def state_bytes(self) -> bytes:
        return save(self.arrays) if self.state is None else self.state

    def stored(self) -> Stored:
        head = json.dumps(self.head).encode() if self.head_bytes is None else self.head_bytes
        return Stored(self.state_bytes(), head)


def altered(stored: Stored, *seed: int) -> Stored:
    """Gives the stored model with one to three alterations that the seed chooses."""
    draft = Draft(np.random.default_rng(seed), load(stored.state), json.loads(stored.head))
    for _ in range(draft.one_of((1, 1, 1, 2, 3))):
        draft.one_of(ALTERATIONS)(draft)
    return draft.stored()


def flip_bytes(draft: Draft) -> None:
    """Sets up to eight bytes to others, half of the time in the header."""
    changed = bytearray(draft.state_bytes())
    first = 8 + int.from_bytes(changed[:8], "little")  # byte after the header
    for _ in range(draft.one_of((1, 2, 8)) if changed else 0):
        start, stop = draft.one_of(((0, first), (first, len(changed))))
        at = draft.rng.integers(min(start, len(changed) - 1), max(min(stop, len(changed)), 1))
        changed[int(at)] = int(draft.rng.integers(256))
    draft.state = bytes(changed)


def cut_bytes(draft: Draft) -> None:
    """Cuts the file of arrays somewhere, or writes something behind it."""
    whole = draft.state_bytes()
    draft.state = draft.one_of((whole[: int(draft.rng.integers(len(whole) + 1))], whole + bytes(7), b""))


def alter_head_bytes(draft: Draft) -> None:
    """Flips or drops bytes of model.json, or nests it deeply."""
    text = bytearray(draft.stored().head)
    at = int(draft.rng.integers(len(text) or 1))
    text[at : at + 1] = draft.one_of((b"", b"9", b"-", b"e", b"[", b'"', b"\xff", b"[" * 100_000))
    draft.head_bytes = bytes(text if draft.rng.random() < 0.9 else text[:at])


def rewrite_header(draft: Draft) -> None:
    """Gives the bytes of an array another type, or another shape of as many bytes; at times of more."""
    whole = draft.state_bytes()
    size = int.from_bytes(whole[:8], "little")
    try:
        header = json.loads(whole[8 : 8 + size])
        entry = header[draft.one_of(sorted(set(header) - {"__metadata__"}))]
        start, stop = entry["data_offsets"]
        entry["dtype"] = draft.one_of((entry["dtype"], draft.one_of(TYPES)))
        n = (stop - start) * 8 // BITS[entry["dtype"]]
    except (ValueError, LookupError, TypeError):
        return  # an earlier alteration left no header to rewrite
    shapes = ([n], [n], [1, n], [n, 1], [n // 2, 2], [n, 0], [], [2**40, 0], [2**33, 2**33], [-1])
    entry["shape"] = draft.one_of(shapes)
    text = json.dumps(header).encode()
    draft.state = len(text).to_bytes(8, "little") + text + whole[8 + size :]


def cast(draft: Draft) -> None:
    """Stores an array as another type, its values kept as far as they go."""
    name = draft.array()
    with np.errstate(all="ignore"):
        draft.arrays[name] = draft.arrays[name].astype(draft.one_of(DTYPES))


def set_values(draft: Draft) -> None:
    """Sets one value, some or all of an array to extremes, or moves one by a little."""
    name = draft.array()
    values = draft.arrays[name].copy()
    flat = values.reshape(-1)
    if not flat.size:
        return
    where = draft.one_of(([0], [-1], draft.rng.integers(flat.size, size=1), draft.rng.integers(flat.size, size=5), ...))
    with np.errstate(all="ignore"):
        if draft.rng.random() < 0.3 and flat.dtype != bool:
            flat[where] += flat.dtype.type(draft.one_of((1, 3)))
        elif flat.dtype.kind == "f":
            flat[where] = draft.one_of(REAL)
        else:
            flat[where] = np.array(draft.one_of(WHOLE)).astype(flat.dtype)
    draft.arrays[name] = values


def reshape(draft: Draft) -> None:
    """Makes an array shorter, longer, empty, flat, transposed or of another number of axes."""
    name = draft.array()
    values = draft.arrays[name]
    shapes: tuple[Callable[[], np.ndarray], ...] = (
        lambda: values[:-1],
        lambda: values[:0],
        lambda: np.concatenate([values, values[-1:]]),
        lambda: np.zeros((), values.dtype),
        lambda: values.T,
        lambda: values.reshape(-1),
        lambda: values[None],
        lambda: values[..., None],
        lambda: values[..., :0],
        lambda: values[..., :1],
    )
    if values.ndim:
        draft.arrays[name] = np.ascontiguousarray(draft.one_of(shapes)())


def swap(draft: Draft) -> None:
    """Swaps two arrays, puts one in place of another, drops or adds one, or turns the order of its values."""
    one, other = draft.array(), draft.array()
    arrays = draft.arrays
    how = draft.one_of(("swap", "swap", "copy", "turn", "drop", "add"))
    if how == "swap":
        arrays[one], arrays[other] = arrays[other], arrays[one]
    elif how == "copy":
        arrays[one] = arrays[other].copy()
    elif how == "turn" and arrays[one].ndim:
        arrays[one] = np.ascontiguousarray(arrays[one][::-1])
    elif how == "drop" and len(arrays) > 1:
        del arrays[one]
    elif how == "add":
        arrays["more"] = np.zeros(3)


def alter_fact(draft: Draft) -> None:
    facts = draft.head["facts"]
    name = draft.one_of(sorted(facts))
    near = [facts[name] + step for step in (-1, 1)] if isinstance(facts[name], int | float) else [[1.0, "a"]]
    facts[name] = draft.one_of((*near, *near, draft.one_of(PLAIN)))


def alter_parameter(draft: Draft) -> None:
    if draft.head["params"]:
        draft.head["params"][draft.one_of(sorted(draft.head["params"]))] = draft.one_of(PLAIN)


def alter_head(draft: Draft) -> None:
    """Sets a part of the head to something odd, or names another class."""
    classes = ("Popular", "KNN", "Ridge", "PassiveAggressive", "OneVsRestLinear", "LEML", "CPLST", "TagModel")
    other = draft.one_of(({"class": draft.one_of(classes)}, {draft.one_of(sorted(draft.head)): draft.one_of(PLAIN)}))
    draft.head_bytes = json.dumps(draft.head | other).encode()


ALTERATIONS = (
    flip_bytes,
    cut_bytes,
    alter_head_bytes,
    rewrite_header,
    rewrite_header,
    cast,
    set_values,
    set_values,
    set_values,
    reshape,
    reshape,
    swap,
    swap,
    alter_fact,
    alter_fact,
    alter_parameter,
    alter_parameter,
    alter_parameter,
    alter_head,
)
