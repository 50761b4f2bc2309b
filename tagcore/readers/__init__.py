"""Readers: from files of many formats to blocks of documents and tags.

>>> from tagcore.readers import open_source
>>> source = open_source(folder)                                        # doctest: +SKIP
>>> for block in source.blocks():                                       # doctest: +SKIP
...     append_block(writer, block)
"""

from tagcore.readers.open import open_source

__all__ = ["open_source"]
