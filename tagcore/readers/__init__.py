"""Readers: from files of many formats to blocks of documents and tags.

>>> from tagcore.readers import open_source
>>> source = open_source(folder)                                        # doctest: +SKIP
>>> for block in source.blocks():                                       # doctest: +SKIP
...     append_block(writer, block)
"""

from tagcore.readers.cards import Card, known_cards, recognise
from tagcore.readers.opening import open_source, source_fingerprint
from tagcore.readers.rejects import BadRow, ReadError
from tagcore.readers.source import Counts, Source

__all__ = [
    "BadRow",
    "Card",
    "Counts",
    "ReadError",
    "Source",
    "known_cards",
    "open_source",
    "recognise",
    "source_fingerprint",
]
