"""Parsers that hang or end do no harm to the crawl."""

import os
import signal

import pytest

from tasks.crawl.parsing import ParserProcesses

PAGE = ("page", "http://a.org/", "text/html", b"<title>Rye</title><p>Rest the dough.</p>")


@pytest.mark.parametrize(
    ("sent", "seconds", "why"),
    [(signal.SIGSTOP, 0.2, "took too long to read"), (signal.SIGKILL, 60.0, "ended its parser")],
)
def test_a_parser_that_hangs_or_ends_is_replaced(sent, seconds, why):
    parsers = ParserProcesses(1, seconds=60.0)
    try:
        parse = parsers.threads.submit
        assert parse(parsers.parse, *PAGE).result()["page"]["title"] == "Rye"
        (process,) = parsers._all
        os.kill(process._process.pid, sent)
        parsers._seconds = seconds
        assert parse(parsers.parse, *PAGE).result() == {"refused": why}
        parsers._seconds = 60.0
        assert parse(parsers.parse, *PAGE).result()["page"]["title"] == "Rye"
        assert not process._process.is_alive()
    finally:
        parsers.close()
