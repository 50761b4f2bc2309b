"""SplitMix64 against the published sequence, and the hash of strings against Python's own integers."""

import numpy as np

from tagcore.kernels.random.hashing import hash_strings, hash_texts
from tagcore.kernels.random.splitmix import GOLDEN, mix

WORD = 2**64 - 1


def test_the_published_sequence_of_seed_1234567():
    with np.errstate(over="ignore"):
        drawn = [int(mix(np.uint64(1234567) + np.uint64(i) * GOLDEN)) for i in range(1, 6)]
    assert drawn == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_a_hash_of_strings_is_fnv_with_a_seed_and_the_finaliser():
    texts, seed = [b"", b"a", b"tag", bytes(range(256))], 7
    offsets = np.cumsum([0, *map(len, texts)])
    expected = []
    for text in texts:
        h = 14695981039346656037 ^ (seed * int(GOLDEN) & WORD)
        for byte in text:
            h = (h ^ byte) * 1099511628211 & WORD
        expected.append(int(mix(np.uint64(h))))
    assert hash_strings(np.frombuffer(b"".join(texts), np.uint8), offsets, seed).tolist() == expected


def test_a_hash_of_texts_depends_on_every_byte_and_on_no_neighbour():
    texts = [b"", b"\0" * 8, b"\0" * 9, *(bytes(range(n)) for n in range(1, 40))]
    long = bytes(range(35))
    texts += [long[:i] + bytes([long[i] ^ 1]) + long[i + 1 :] for i in range(len(long))]
    texts += [long[8:16] + long[:8] + long[16:], long[::-1]]
    offsets = np.cumsum([0, *map(len, texts)])
    hashes = hash_texts(np.frombuffer(b"".join(texts), np.uint8), offsets)
    assert len(set(hashes.tolist())) == len(texts)
    for text, found in zip(texts, hashes, strict=True):
        assert hash_texts(np.frombuffer(text, np.uint8), np.array([0, len(text)]))[0] == found
