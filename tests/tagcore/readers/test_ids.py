"""Documents that come twice are noticed, however many came between."""

import tracemalloc
from pathlib import Path

import pytest

from tagcore.readers import ids
from tagcore.readers.bad_rows import BadValue
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile

FILES = [InputFile(Path("a.jsonl")), InputFile(Path("b.jsonl"))]


def test_an_id_is_known_again_from_the_last_lines_and_from_long_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "_RECENT", 8)
    seen = DocumentIds(FILES)
    for line in range(1, 101):
        seen.claim(f"document {line}", line % 2, line)
    for line in (1, 2, 50, 99, 100):
        seen.claim(f"document {line}", line % 2, line)  # the same line once more is no other document
        named = f"line {line} of {FILES[line % 2].name} has the same"
        with pytest.raises(BadValue) as caught:
            seen.claim(f"document {line}", 0, 1000)
        assert caught.value.expected == f"an id of its own; {named}"
    seen.claim("document 101", 0, 101)


def test_memory_is_of_a_few_bytes_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "_RECENT", 2048)
    seen, documents = DocumentIds(FILES), 4 * 2048
    tracemalloc.start()
    for line in range(documents):
        seen.claim(str(line), 0, line)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 32 * documents
