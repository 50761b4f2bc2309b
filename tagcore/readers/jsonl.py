"""JSON Lines: one object a line, a document with its tags."""

import json
from collections.abc import Iterator
from typing import Any

from tagcore.corpus import Block
from tagcore.readers.bad_rows import BadValue, not_utf8
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile
from tagcore.readers.records import DEFAULT_NAMES, BlockBuilder, TextOptions
from tagcore.readers.source import Source

_MOST_KEYS = 1000  # remembered to say what there is when a named key is not
_ARRAY, _OBJECTS = "for an array run jq -c '.[]' FILE > FILE.jsonl", "for longer objects jq -c '.' FILE > FILE.jsonl"
_SURROGATES = (b"\\ud", b"\\uD")


class Jsonl(Source):
    """Documents of JSON Lines.

    Tags are a list of strings, or of objects with tag and perhaps user, count, time. Further fields are strings or
    lists of them. Other keys are ignored.
    """

    format = "jsonl"
    Options = TextOptions

    def _raw_blocks(self) -> Iterator[Block]:
        self._keys: set[str] = set()
        self._names = [(field, self.options.names(field)) for field in DEFAULT_NAMES]
        self._names += [(field, (field,)) for field in self.options.further]
        html = self.options.html
        ids = DocumentIds(self.files)
        for number, file in enumerate(self.files):
            rows = BlockBuilder(self.tags, ids, number, file.split, self._id_prefix(file), self.options.further)
            for chunk in self._lines(file):
                for line, raw in enumerate(chunk.data.split(b"\n"), chunk.line):
                    if raw and not raw.isspace():
                        self._add(file, rows, line, raw)
                if rows:
                    html = rows.look_like_html() if html is None else html
                    yield rows.block(html)

    def _add(self, file: InputFile, rows: BlockBuilder, line: int, raw: bytes) -> None:
        try:
            record = parse_object(raw)
            if len(self._keys) < _MOST_KEYS:
                self._keys.update(record)
            rows.add(line, self._by_field(record))
        except BadValue as error:
            self._rejected_rows.add(file.name, line, error.value, error.expected, raw)

    def _by_field(self, record: dict[str, Any]) -> dict[str, Any]:
        fields = {}
        for field, names in self._names:
            for name in names:
                if (value := record.get(name)) is not None:
                    fields[field] = value
                    break
        return fields

    def _check(self) -> None:
        if len(self._keys) < _MOST_KEYS:
            self.options.check_names(self._keys, self.place)


def parse_object(raw: bytes) -> dict[str, Any]:
    """Reads one line as a JSON object; raises BadValue where it is none."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(error) from None
    try:
        record = json.loads(text)
        if any(s in raw for s in _SURROGATES):
            json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise BadValue(ascii(error.object[error.start]), "whole Unicode characters, no half surrogate") from None
    except json.JSONDecodeError as error:
        if text.strip() in ("[", "{"):  # printed over several lines
            raise BadValue(text.strip(), f"a JSON object a line; {_ARRAY if '[' in text else _OBJECTS}") from None
        near = text[error.pos : error.pos + 20]
        raise BadValue(near, f"a JSON object a line: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets nested too deeply
        raise BadValue(text, f"a JSON object that can be read ({error})") from None
    if not isinstance(record, dict):
        raise BadValue(text, f"a JSON object a line; {_ARRAY}" if isinstance(record, list) else "a JSON object")
    return record
