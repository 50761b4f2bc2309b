"""Named fields of documents, such as title and text: what is read of each, and as which words.

Where no fields are named a document is one text, its title and then its text. Named fields are arrow structs: each is
read apart from the others, so that it can weigh more than they do or have columns of its own.

The texts of a field are what a reader gives of it (`tagcore/readers/records.py`); title, text and url have columns of
the documents (`DOCUMENT_FIELDS` in `tagcore/corpus.py`). How a field becomes words: `read_field`; which stored fields
there must be for that: `tagcore/features/corpus_reader.py`.
"""

import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.corpus import DOCUMENT_FIELDS, Document
from tagcore.kernels.text.tfidf import place
from tagcore.text.string_arrays import BLOCK, string_array, text_blocks
from tagcore.text.tokens import Sequences

Documents: TypeAlias = Iterable[Document] | pa.Array | pa.ChunkedArray

TITLE, TEXT, URL = "title", "text", "url"
USUAL = (TITLE, TEXT)  # what is read where no fields are named
SEPARATOR = ":"  # between a field and a word that has a column of its own there


def plain_field(names: Sequence[str]) -> str:
    """Gives the field that a document without fields, a mere text, is taken for."""
    return next((name for name in (TEXT, TITLE) if name in names), names[0])


def are_fields(value: Any) -> bool:
    """Whether a vectoriser may take these as its fields: names with weights above 0."""
    if value is None:
        return True
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(name, str) and name and SEPARATOR not in name for name in value)
        and all(isinstance(w, Real) and not isinstance(w, bool) and 0 < float(w) < math.inf for w in value.values())
    )


def require_several(documents: Any) -> None:
    """Raises ValueError where one document came instead of several: the names of its fields are no texts."""
    if isinstance(documents, Mapping):
        raise ValueError(f"texts is the one document {reprlib.repr(documents)}, expected a list, such as [document]")


def document_blocks(documents: Documents, names: Sequence[str] | None) -> Iterator[pa.Array]:
    """Yields arrow arrays that together hold the documents: of strings, or of structs with just the named fields."""
    require_several(documents)
    if isinstance(documents, pa.Array | pa.ChunkedArray | str):
        for block in documents.chunks if isinstance(documents, pa.ChunkedArray) else [documents]:
            if isinstance(block, pa.StructArray):
                yield _chosen_fields(block, names)
            else:
                yield from (_as_struct(array, names) for array in text_blocks(block))
        return
    remaining, first = iter(documents), 0
    while block := list(islice(remaining, BLOCK)):
        if any(isinstance(document, Mapping) for document in block):
            yield _from_mappings(block, names, first)
        else:
            yield from (_as_struct(array, names) for array in text_blocks(block))
        first += len(block)
    if not first:
        yield _as_struct(pa.array([], pa.large_string()), names)


def fields_of(document: Document, names: Sequence[str] | None, where: str = "the document") -> dict[str, str]:
    """Gives the texts of a document by field, without those that are not read; ValueError where one is unknown."""
    read = tuple(names or USUAL)
    if not isinstance(document, Mapping):
        if document is not None and not isinstance(document, str):
            raise ValueError(f"{where}: expected a str, got {type(document).__name__} {document!r:.80}")
        return {plain_field(read): document or ""}
    known = {*read, *DOCUMENT_FIELDS}  # the latter may be there whether they are read or not
    if unknown := [name for name in document if name not in known]:
        raise ValueError(f"{where}: there is no field {unknown[0]!r:.80}, expected some of {', '.join(sorted(known))}")
    return {name: field_text(value, f"{where}: {name}") for name, value in document.items() if name in read}


def field_text(value: Any, where: str) -> str:
    """Gives the text of a field: a string, or a list of them, such as comments, one below the other."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list | tuple | np.ndarray) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    raise ValueError(f"{where} is {value!r:.80}, expected a string or a list of strings")


def read_field(block: pa.StructArray, name: str) -> pa.Array:
    """Gives the texts of one field as words are read from them: a URL without its scheme, its parts apart."""
    texts = string_array(block.field(name))
    return url_words(texts) if name == URL else texts


def url_words(urls: pa.Array) -> pa.Array:
    """Takes URLs apart: no scheme and no www, escapes and underscores as spaces.

    >>> url_words(pa.array(["https://www.example.org/red_apples%20and-pears?page=2"])).to_pylist()
    ['example.org/red apples and-pears?page=2']
    """
    bare = pc.replace_substring_regex(urls, r"^[A-Za-z][A-Za-z0-9+.-]*://(www\d*\.)?", "")
    return pc.replace_substring_regex(bare, r"%[0-9A-Fa-f]{2}|_", " ")


def joined(parts: Sequence[Sequences]) -> tuple[Sequences, np.ndarray]:
    """Puts the sequences of the fields of every document behind one another; also the ends of each, by document."""
    lengths = np.stack([np.diff(part.indptr) for part in parts], axis=1)
    indptr = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))]).astype(np.int64)
    ends = np.ascontiguousarray(indptr[:-1, None] + np.cumsum(lengths, axis=1))
    ids = np.empty(indptr[-1], np.int32)
    for number, part in enumerate(parts):
        place(*part, np.ascontiguousarray(ends[:, number]), ids)
    return Sequences(ids, indptr), ends


def title_and_text(title: pa.Array, text: pa.Array) -> pa.Array:
    """Joins what is read of documents without named fields."""
    title, text = (pc.fill_null(column, "") for column in (title, text))
    return pc.binary_join_element_wise(title, text, pa.scalar("\n", text.type))


def struct_of(columns: Mapping[str, pa.Array]) -> pa.StructArray:
    """Gives named texts as one array."""
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))


def field_texts(documents: pa.Table, fields: pa.Table | None, names: Sequence[str]) -> pa.StructArray:
    """Gives the texts of the named fields, empty where a document lacks one."""

    def texts(name: str) -> pa.Array:
        if name in DOCUMENT_FIELDS:
            return pc.fill_null(documents[name].combine_chunks(), "")
        if fields is None:
            return pa.array([""] * documents.num_rows, pa.string())
        column = fields["fields"].combine_chunks()
        return pc.fill_null(pc.map_lookup(column, query_key=pa.scalar(name, pa.string()), occurrence="first"), "")

    return struct_of({name: texts(name) for name in names})


def _chosen_fields(block: pa.StructArray, names: Sequence[str] | None) -> pa.Array:
    present = {block.type.field(i).name for i in range(block.type.num_fields)}
    if missing := [name for name in names or USUAL if name not in present]:
        raise ValueError(f"documents without a field {missing[0]!r}; they have {', '.join(sorted(present))}")
    if names is None:
        return title_and_text(block.field(TITLE), block.field(TEXT))
    return struct_of({name: block.field(name) for name in names})


def _as_struct(texts: pa.Array, names: Sequence[str] | None) -> pa.Array:
    """Texts as the one field that a mere text is taken for; texts themselves where no fields are named."""
    if names is None:
        return texts
    empty = pa.array([""] * len(texts), texts.type)
    return struct_of({name: texts if name == plain_field(names) else empty for name in names})


def _from_mappings(block: list, names: Sequence[str] | None, first: int) -> pa.Array:
    of_all = [fields_of(document, names, f"text {row}") for row, document in enumerate(block, first)]
    columns = {name: next(text_blocks([document.get(name, "") for document in of_all])) for name in (names or USUAL)}
    if names is None:
        return title_and_text(columns[TITLE], columns[TEXT])
    return struct_of(columns)
