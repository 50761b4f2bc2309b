"""Small files of the formats that sites and browsers export, each as it is found in the wild."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

_QUESTION = "&lt;p&gt;Rest the dough.&lt;/p&gt;"
POSTS = f"""<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="1" PostTypeId="1" CreationDate="2010-07-09T19:09:59.540" Title="Why &amp; how?" Body="{_QUESTION}"
    OwnerUserId="7" Tags="&lt;bread&gt;&lt;oven-use&gt;" />
  <row Id="2" PostTypeId="2" ParentId="1" Body="&lt;p&gt;An answer&lt;/p&gt;" OwnerUserId="8" />
  <row Id="3" PostTypeId="1" CreationDate="2010-07-10T00:00:00.000" Title="Soup" Body="Simmer"
    OwnerDisplayName="guest" Tags="|soup|bread|" />
</posts>
""".encode()

BOOKMARKS = b"""<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
    <DT><H3 PERSONAL_TOOLBAR_FOLDER="true">Bookmarks bar</H3>
    <DL><p>
        <DT><A HREF="https://example.org/rye#top" ADD_DATE="1714564800" TAGS="bread,rye">Rye &amp; wheat</A>
        <DD>All about <b>rye</b>
        <DT><H3 ADD_DATE="1">Kitchen</H3>
        <DL><p>
            <DT><A HREF="https://example.org/soup" ADD_DATE="1714564800000000">Soup</A>
            <DT><A HREF="https://example.org/rye">Rye again</A>
            <DT><A HREF="javascript:void(0)">A button</A>
        </DL><p>
    </DL><p>
</DL><p>
"""

FLICKR = {
    "id": "51",
    "title": {"_content": "A loaf"},
    "description": {"_content": "<b>Baked</b> on Sunday"},
    "tags": {"tag": [{"raw": "bread", "author": "ann"}, {"_content": "rye"}]},
    "owner": {"username": "ben"},
    "comments": {"comment": [{"_content": "What a crust"}]},
}
YOUTUBE = {
    "id": {"videoId": "v1"},
    "snippet": {
        "title": "Soup in a minute",
        "description": "Quick",
        "tags": ["soup"],
        "channelTitle": "Cooks",
        "publishedAt": "2024-05-01T12:00:00Z",
    },
}
MEDIA = "\n".join(map(json.dumps, (FLICKR, YOUTUBE))).encode() + b"\n"


def _tabs(text: str) -> bytes:
    return text.replace(" | ", "\t").encode("latin-1")


TAS = _tabs("""7 | bread | 11 | 1 | 2007-01-01 12:00:00
7 | rye | 11 | 1 | 2007-01-01 12:00:00
8 | paper | 12 | 2 | 2007-01-02 00:00:00
""")
BOOKMARK = b"11\tabc\thttp://example.org/rye\tRye\\tand wheat\tnote\\\nin two lines\t2007-01-01 12:00:00\n"
_CELLS = {0: "12", 16: "http://example.org/paper", 26: "An abstract", 31: "A paper"}
BIBTEX = "\t".join(_CELLS.get(i, "\\N") for i in range(35)).encode() + b"\n"

HETREC = {
    "bookmarks.dat": _tabs("""id | md5 | title | url | md5Principal | urlPrincipal
1 | x | Café | http://a.org/ | x | a.org
2 | y | B | http://b.org/ | y | b.org
"""),
    "tags.dat": _tabs("id | value\n5 | bread\n6 | oven\\use\n"),
    "user_taggedbookmarks.dat": _tabs("""userID | bookmarkID | tagID | day | month | year | hour | minute | second
8 | 1 | 5 | 1 | 5 | 2010 | 12 | 0 | 0
9 | 1 | 5 | 2 | 5 | 2010 | 0 | 0 | 0
8 | 2 | 6 | 1 | 5 | 2010 | 12 | 0 | 0
"""),
}


def parquet() -> bytes:
    """Two documents as a table."""
    table = pa.table(
        {
            "id": ["a", "b"],
            "title": ["Rye", None],
            "body": ["<p>Rest the dough</p>", "<p>Simmer</p>"],
            "tags": [[{"tag": "bread", "user": "ann"}], [{"tag": "soup", "user": None}]],
            "fetched_at": pa.array([0, None], pa.timestamp("us", tz="UTC")),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


# name of the file to open -> the files of its folder
FORMATS = {
    "Posts.xml": {"Posts.xml": POSTS},
    "bookmarks.html": {"bookmarks.html": BOOKMARKS},
    "media.jsonl": {"media.jsonl": MEDIA},
    "table.parquet": {"table.parquet": parquet()},
    "tas": {"tas": TAS, "bookmark": BOOKMARK, "bibtex": BIBTEX},
    "bookmarks.dat": HETREC,
}
