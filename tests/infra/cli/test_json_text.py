"""JSON on terminals of any encoding."""

import io
import json

import pytest

from infra.cli.json_text import json_encoder
from infra.cli.tagged_output import JsonLines, Tagged
from tagcore.tagger import Suggestion


@pytest.mark.parametrize(
    ("encoding", "letters"), [("utf-8", "naïve 日本"), ("UTF8", "naïve 日本"), ("latin-1", None), ("ascii", None)]
)
def test_json_is_read_as_it_was_in_any_encoding(encoding, letters):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding, errors="backslashreplace")
    JsonLines(stream, ids=True, words=3, calibrated=False).write([Tagged("1", [Suggestion("naïve 日本", 0.5)], 2, {})])
    line = raw.getvalue().decode(encoding)
    assert json.loads(line)["tags"] == [{"tag": "naïve 日本", "score": 0.5}]
    assert (letters or "\\u65e5") in line


def test_a_stream_in_memory_takes_letters_as_they_are():
    assert json_encoder(io.StringIO())("é") == '"é"'
