"""JSON that is JSON on any terminal."""

import codecs
import json
from collections.abc import Callable
from typing import IO, Any


def json_encoder(stream: IO[str]) -> Callable[[Any], str]:
    """Gives what turns plain data into JSON for a stream: with letters as they are where that is UTF-8, else in ASCII.

    What another encoding lacks would be written as Python writes it (`\\xe9`), which no reader of JSON takes.
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"  # a stream in memory has none
    is_utf8 = codecs.lookup(encoding).name.startswith("utf-8")
    return json.JSONEncoder(ensure_ascii=not is_utf8).encode
