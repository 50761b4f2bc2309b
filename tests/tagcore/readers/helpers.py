"""What the readers' tests share: a whole source in one piece, small files, and how messages are judged."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tagcore.corpus import tag_matrix
from tagcore.readers import open_source
from tagcore.readers.source import Source


class Whole(NamedTuple):
    source: Source
    documents: list[dict[str, Any]]
    taggings: list[dict[str, Any]]
    words: np.ndarray | None

    @property
    def ids(self) -> list[str]:
        return [d["id"] for d in self.documents]

    @property
    def tags(self) -> list[list[str]]:
        """the names of the tags of every document, as often as they were given."""
        names = list(self.source.tags)
        out: list[list[str]] = [[] for _ in self.documents]
        for tagging in self.taggings:
            out[tagging["document"]].append(names[tagging["tag"]])
        return out


def read(path: Path | str, rows: int = 8192, **options: Any) -> Whole:
    return whole(open_source(path, **options), rows)


def whole(source: Source, rows: int = 8192) -> Whole:
    documents: list[dict] = []
    taggings: list[dict] = []
    words = []
    for block in source.blocks(rows):
        n = block.documents.num_rows
        assert 0 < n <= rows
        for tagging in block.taggings.to_pylist():
            assert 0 <= tagging["document"] < n
            taggings.append({**tagging, "document": tagging["document"] + len(documents)})
        assert tag_matrix(block.taggings, n, len(source.tags)).shape == (n, len(source.tags))
        documents += block.documents.to_pylist()
        if block.words is not None:
            assert block.words.dtype == np.float32
            assert block.words.has_sorted_indices
            words.append(block.words.toarray())
    return Whole(source, documents, taggings, np.vstack(words) if words else None)


def jsonl(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


def gzipped(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data))
    return path


def zipped(path: Path, **members: bytes) -> Path:
    """members by name; a dot is written as __ in the keyword."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "."), data)
    return path
