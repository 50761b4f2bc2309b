"""Readers: from files of many formats to blocks of documents and tags.

>>> from tagcore.readers import open_source
>>> source = open_source(folder)                                        # doctest: +SKIP
>>> for block in source.blocks():                                       # doctest: +SKIP
...     append_block(writer, block)
"""

from tagcore.readers.cards import Card, data_sets, known_cards, recognise
from tagcore.readers.citeulike import read_libraries
from tagcore.readers.open import open_source, source_fingerprint
from tagcore.readers.qrels import read_qrels
from tagcore.readers.rcv1.taxonomy import read_taxonomy
from tagcore.readers.rejects import BadRow, ReadError
from tagcore.readers.source import Counts, Source

__all__ = [
    "BadRow",
    "Card",
    "Counts",
    "ReadError",
    "Source",
    "data_sets",
    "known_cards",
    "open_source",
    "read_libraries",
    "read_qrels",
    "read_taxonomy",
    "recognise",
    "source_fingerprint",
]
