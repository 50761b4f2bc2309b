"""The parquet schemas of every stored data set. A row group is a shard; files of one data set share row groups.

A new column stands in its schema and in `LATER`, as data sets that were stored before lack it: what reads it must do
without it, too. Who fills it: `tagcore/readers/records.py`; of crawled pages `tagcore/readers/web/gathered.py` and
`collection.py` there.
"""

import pyarrow as pa

VERSION = 1  # raised where what is stored can no longer be read; a column in `LATER` is no such change

DOCUMENTS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("title", pa.string()),
        pa.field("text", pa.string()),
        pa.field("language", pa.string()),
        pa.field("fetched_at", pa.timestamp("us", tz="UTC")),
        pa.field("split", pa.string()),  # "train" or "test" where the source has an official split
        pa.field("vanished_at", pa.timestamp("us", tz="UTC")),  # when a crawl found its page gone: it stays, marked
    ]
)
TAGGINGS = pa.schema(
    [
        pa.field("document", pa.int64(), nullable=False),  # row of `documents`, ascending
        pa.field("tag", pa.int32(), nullable=False),  # row of `tags`
        pa.field("user", pa.string()),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("time", pa.timestamp("us", tz="UTC")),
    ]
)
NAMES = pa.schema([pa.field("name", pa.string(), nullable=False)])
BAGS = pa.schema(
    [
        pa.field("words", pa.list_(pa.int32()), nullable=False),  # rows of `words`
        pa.field("values", pa.list_(pa.float32()), nullable=False),
    ]
)
FIELDS = pa.schema([pa.field("fields", pa.map_(pa.string(), pa.string()), nullable=False)])  # beside title and text
RATINGS = pa.schema(
    [
        pa.field("user", pa.int32(), nullable=False),  # row of `users`
        pa.field("item", pa.int32(), nullable=False),  # row of `items`
        pa.field("value", pa.float64(), nullable=False),
        pa.field("time", pa.timestamp("us", tz="UTC")),
    ]
)
USER_TAGGINGS = pa.schema(
    [
        pa.field("user", pa.int32(), nullable=False),  # row of `users`
        pa.field("item", pa.int32(), nullable=False),  # row of `items`
        pa.field("tag", pa.int32(), nullable=False),  # row of `tags`
    ]
)
ITEM_TAGS = pa.schema(
    [
        pa.field("item", pa.int32(), nullable=False),  # row of `items`
        pa.field("tag", pa.int32(), nullable=False),  # row of `tags`
    ]
)
SCALE = pa.schema([pa.field("low", pa.float64(), nullable=False), pa.field("high", pa.float64(), nullable=False)])
ROWS = pa.schema(
    [
        pa.field("document", pa.int64(), nullable=False),
        pa.field("words", pa.list_(pa.int32()), nullable=False),
        pa.field("values", pa.list_(pa.float32()), nullable=False),
        pa.field("tags", pa.list_(pa.int32()), nullable=False),
        pa.field("counts", pa.list_(pa.float32()), nullable=False),
    ]
)
LEDGER = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("since", pa.int32(), nullable=False),  # the night that brought it
        pa.field("before", pa.int64(), nullable=False),  # its row last night, -1 where there was none
        pa.field("used", pa.bool_(), nullable=False),  # to learn from or to measure on
        pa.field("held_out", pa.bool_(), nullable=False),
        pa.field("new", pa.bool_(), nullable=False),  # used now and not last night
        pa.field("changed", pa.bool_(), nullable=False),  # another text than last night
        pa.field("retagged", pa.bool_(), nullable=False),  # other tags than last night
        pa.field("text", pa.uint64(), nullable=False),  # hashes of both
        pa.field("tags", pa.uint64(), nullable=False),
        pa.field("counts", pa.uint64(), nullable=False),  # and of the tags with how often each was given
    ]
)
CLASS_ROWS = pa.schema(
    [
        pa.field("values", pa.list_(pa.float64()), nullable=False),  # scaled, one for each row of `columns`
        pa.field("class", pa.int32(), nullable=False),  # row of `classes`
    ]
)
SCALING = pa.schema(
    [
        pa.field("mean", pa.float64(), nullable=False),
        pa.field("deviation", pa.float64(), nullable=False),
    ]
)

LATER = {"vanished_at"}  # columns that data sets stored by earlier versions may lack

# kind of data set -> table -> (schema, always there)
KINDS: dict[str, dict[str, tuple[pa.Schema, bool]]] = {
    "corpus": {
        "documents": (DOCUMENTS, True),
        "taggings": (TAGGINGS, True),
        "tags": (NAMES, True),
        "bags": (BAGS, False),  # where the source gives counted words instead of text
        "words": (NAMES, False),
        "fields": (FIELDS, False),  # where documents have further fields, such as a description or comments
    },
    "ratings": {
        "ratings": (RATINGS, True),
        "users": (NAMES, True),
        "items": (NAMES, True),
        "titles": (NAMES, False),  # one for every row of `items`, empty where there is none
        "scale": (SCALE, False),  # one row: the lowest and highest rating that there may be
        "taggings": (USER_TAGGINGS, False),  # where the source tells who tagged what
        "item_tags": (ITEM_TAGS, False),  # tags that items have by themselves, such as genres
        "tags": (NAMES, False),
    },
    "rating-split": {
        "train": (RATINGS, True),
        "test": (RATINGS, True),
        "users": (NAMES, True),
        "items": (NAMES, True),
        "titles": (NAMES, False),
        "scale": (SCALE, False),
        "taggings": (USER_TAGGINGS, False),
        "item_tags": (ITEM_TAGS, False),
        "tags": (NAMES, False),
    },
    "features": {"train": (ROWS, True), "test": (ROWS, True), "tags": (NAMES, True)},
    "ledger": {"documents": (LEDGER, True)},  # one row for every document of a corpus, from night to night
    "growth": {"tags": (NAMES, True)},
    "class-split": {
        "train": (CLASS_ROWS, True),
        "test": (CLASS_ROWS, True),
        "classes": (NAMES, True),
        "columns": (NAMES, True),
        "scaling": (SCALING, True),
    },
    "thresholds": {},
    "model": {"tags": (NAMES, True)},
    "recommender": {"users": (NAMES, True), "items": (NAMES, True), "titles": (NAMES, False), "tags": (NAMES, False)},
    "classifier": {"columns": (NAMES, True), "scaling": (SCALING, True)},
    "evaluation": {},
}
