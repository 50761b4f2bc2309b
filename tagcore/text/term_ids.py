"""What gives ids to the terms of documents: it learns them, knows a fixed list of them, or hashes any."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tagcore.text.analysis import TermLearner, TermLookup
from tagcore.text.document_fields import SEPARATOR, joined, read_field
from tagcore.text.hashing import HashedTerms, column_names
from tagcore.text.parameters import build_analysis
from tagcore.text.tokens import Sequences
from tagcore.text.vocabulary import given_terms

TermSource: TypeAlias = TermLearner | TermLookup | HashedTerms
ReadTerms: TypeAlias = tuple[Sequences, np.ndarray]  # term ids, and the ends of the fields of every text


def fixed_terms(params: Mapping[str, Any]) -> pa.Array | None:
    """Gives the terms that parameters ask for, in the order of their columns; None where they are to be learnt."""
    if params["hashed_columns"] is not None:
        return column_names(int(params["hashed_columns"]))
    return None if params["vocabulary"] is None else given_terms(params["vocabulary"])


def term_source(params: dict[str, Any], terms: pa.Array | None) -> TermSource:
    """Gives the source of these terms, or of whatever comes where there are none, as checked parameters ask."""
    analysis = build_analysis(params)
    if params["hashed_columns"] is not None:
        return HashedTerms(analysis, int(params["hashed_columns"]))
    if terms is None:
        return TermLearner(analysis)
    return TermLookup(analysis, terms, [name + SEPARATOR for name in params["own_columns"]])


def read_terms(
    source: TermSource, block: pa.Array, fields: Sequence[str] | None, own_columns: Sequence[str]
) -> ReadTerms:
    """Reads the terms of every document, field by field where these are named."""
    if fields is None:
        sequences = source.ids(block)
        return sequences, sequences.indptr[1:, None]
    prefixes = [name + SEPARATOR if name in own_columns else "" for name in fields]
    return joined([source.ids(read_field(block, n), p) for n, p in zip(fields, prefixes, strict=True)])
