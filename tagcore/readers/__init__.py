"""Readers: from files of many formats to blocks of documents and tags. To add a format: the head of `open.py`.

>>> import tempfile
>>> from pathlib import Path
>>> from tagcore.readers import open_source
>>> folder = tempfile.TemporaryDirectory()
>>> notes = Path(folder.name) / "notes.jsonl"
>>> written = notes.write_text('{"id": "1", "text": "flour, water, yeast", "tags": ["bread"]}')
>>> source = open_source(notes)
>>> for block in source.blocks():
...     print(source.format, block.documents["text"].to_pylist(), list(source.tags))
jsonl ['flour, water, yeast'] ['bread']
>>> folder.cleanup()
"""

from typing import TYPE_CHECKING

from tagcore.on_demand import names_on_demand

if TYPE_CHECKING:
    from tagcore.readers.open import open_source

__all__ = ["open_source"]

__getattr__ = names_on_demand(__name__, __file__)
