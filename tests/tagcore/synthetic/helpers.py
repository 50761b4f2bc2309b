"""What tests of planted documents share."""

import pyarrow as pa

from tagcore.store.schemas import TAGGINGS


def whole(corpus, rows=8192):
    """all documents and all taggings, numbered through."""
    documents, taggings, first = [], [], 0
    for block in corpus.blocks(rows):
        at = pa.array(block.taggings["document"].to_numpy() + first)
        documents.append(block.documents)
        taggings.append(block.taggings.set_column(0, TAGGINGS.field(0), at))
        first += block.documents.num_rows
    return pa.concat_tables(documents), pa.concat_tables(taggings)
