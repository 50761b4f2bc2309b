"""Texts that are all but the same: fingerprints of which similar texts share a part, and the comparison after them."""

import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

SAME = 0.9  # shared runs of words, of all that either text has, from which two texts count as one
_RUN = 3  # words
_BANDS, _ROWS = 6, 8  # two texts that share 9 runs in 10 agree in a band in 97 cases of 100, those that share 3 in none
_MOST_COMPARED = 50  # texts of one band
_WORD = re.compile(r"\w+")
_rng = np.random.default_rng(20240501)
_FACTORS = _rng.integers(1, 2**63, (_BANDS * _ROWS, 1), np.uint64) | np.uint64(1)
_SHIFTS = _rng.integers(0, 2**63, (_BANDS * _ROWS, 1), np.uint64)
_BASE = np.uint64(0x9E3779B97F4A7C15)


def fingerprint(text: str) -> str:
    """Gives the bands of a text in hexadecimal, 8 digits each: minima of hashes of its runs of three words (Broder)."""
    words = _WORD.findall(text.lower())
    hashes = np.array([zlib.crc32(word.encode(errors="replace")) for word in words] or [0], np.uint64)
    runs = hashes[: max(1, hashes.size - _RUN + 1)].copy()
    for shift in range(1, min(_RUN, hashes.size)):
        runs = runs * _BASE + hashes[shift : shift + runs.size]
    mixed = runs * _FACTORS + _SHIFTS
    minima = (mixed ^ (mixed >> np.uint64(29))).min(axis=1).reshape(_BANDS, _ROWS)
    return "".join(f"{zlib.crc32(band.tobytes()):08x}" for band in minima)


def similarity(first: str, second: str) -> float:
    """Gives the share of runs of words that both have of those that either has."""
    a, b = _runs(first), _runs(second)
    return len(a & b) / len(a | b) if a or b else 1.0


def find_duplicates(fingerprints: Sequence[str], text_of: Callable[[int], str]) -> dict[int, int]:
    """Finds texts that repeat an earlier one: number -> number of the one that stays."""
    bands = np.frombuffer(bytes.fromhex("".join(fingerprints)), ">u4").reshape(-1, _BANDS)
    shared = np.stack([_is_repeated(band) for band in bands.T], axis=1)
    kept: defaultdict[tuple[int, int], list[int]] = defaultdict(list)  # bands that no other text has need no place
    repeats: dict[int, int] = {}
    for number in np.flatnonzero(shared.any(axis=1)).tolist():
        own = [(band, int(bands[number, band])) for band in np.flatnonzero(shared[number]).tolist()]
        near = sorted({other for band in own for other in kept.get(band, ())[:_MOST_COMPARED]})
        same = next((other for other in near if similarity(text_of(other), text_of(number)) >= SAME), None)
        if same is not None:
            repeats[number] = same
            continue
        for band in own:
            kept[band].append(number)
    return repeats


def _is_repeated(values: np.ndarray) -> np.ndarray:
    """Marks the values that occur more than once."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return counts[places] > 1


def _runs(text: str) -> set[str]:
    words = _WORD.findall(text.lower())
    if len(words) < _RUN:
        return {" ".join(words)} if words else set()
    return {" ".join(words[i : i + _RUN]) for i in range(len(words) - _RUN + 1)}
