"""Bytes altered at random: changed, cut, doubled, moved, and pieces put in that parsers stumble over."""

import gzip
import zlib
from random import Random

_MARKUP = [
    "<",
    ">",
    "</",
    "/>",
    "&",
    "&amp;",
    "&#0;",
    "&#x10FFFF;",
    '"',
    "'",
    "<!--",
    "]]>",
    "<![CDATA[",
    "<!ENTITY a '",
]
_TEXT = [
    "\x00",
    "\n",
    "\r\n",
    "\t",
    "\\",
    "\\N",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "::",
    "|",
    "#",
    "%",
    "%zz",
    "\ufeff",
    "\u202e",
]
_NUMBERS = [
    "-1",
    "0",
    "1e999",
    "nan",
    "1.",
    "0x1",
    "2147483648",
    "9223372036854775808",
    "1" * 40,
    "1:1:1",
    "1970-01-01",
]
_PIECES = [text.encode() for text in (*_MARKUP, *_TEXT, *_NUMBERS, "<div>" * 300, "[" * 300, "a" * 2000)]
_PIECES += [
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\x1f\x8b\x08",
    b"PK\x03\x04",
    b"PAR1",
    b"WARC/1.0\r\n",
    b"HTTP/1.1 200\r\n",
]


def altered(data: bytes, random: Random) -> bytes:
    """Alters a few places; what is packed by gzip is as often altered inside."""
    if data[:2] == b"\x1f\x8b" and random.random() < 0.5:
        return gzip.compress(_altered(gzip.decompress(data), random), 1, mtime=0)
    return _altered(data, random)


def _altered(data: bytes, random: Random) -> bytes:
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        at, length = random.randrange(len(data) + 1), random.choice((1, 1, 2, 4, 16, 64, 400))
        how = random.randrange(7)
        if how == 0:
            data = data[:at] + random.choice(_PIECES) + data[at:]
        elif how == 1:
            data = data[:at] + data[at + length :]
        elif how == 2:
            data = data[: at + length] + data[at:]
        elif how == 3:
            data = data[:at] + random.randbytes(length) + data[at + length :]
        elif how == 4:
            there = random.randrange(len(data) + 1)
            data = data[:at] + data[there : there + length] + data[at + length :]
        elif how == 5:
            data = data[:at] + random.choice(_PIECES) + data[at + length :]
        elif random.random() < 0.3:
            data = data[:at]  # cut off
    return data


def draws_of(name: str, number: int) -> Random:
    """Gives the draws of one input, the same in every run."""
    return Random(zlib.crc32(name.encode()) << 32 | number)
