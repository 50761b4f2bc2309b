"""Parsers in processes of their own: a page has its time, and no other's."""

import time

from tasks.crawl import parsing

PAGE = b"<html><title>Bread</title><p>flour, water, yeast</p></html>"
_serve = parsing._serve


def serve_after_a_slow_start(pipe):
    time.sleep(4)
    _serve(pipe)


def test_no_page_is_to_blame_for_the_start_of_a_process(monkeypatch):
    monkeypatch.setattr(parsing, "_serve", serve_after_a_slow_start)
    parsers = parsing.ParserProcesses(1, seconds=3)
    try:
        found = parsers.threads.submit(parsers.parse, "page", "http://a.example/", "text/html", PAGE).result()
    finally:
        parsers.close()
    assert "refused" not in found


def never_answer(pipe):
    pipe.send_bytes(b"ready")
    time.sleep(600)


def test_a_page_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(parsing, "_serve", never_answer)
    parsers = parsing.ParserProcesses(1, seconds=0.2)
    try:
        found = parsers.threads.submit(parsers.parse, "page", "http://a.example/", "text/html", PAGE).result()
    finally:
        parsers.close()
    assert found == {"refused": parsing.TOO_LONG}
