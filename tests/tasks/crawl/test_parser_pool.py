"""Parsers that hang or end do no harm to the crawl."""

import os
import signal
import subprocess
import sys
from multiprocessing import Pipe

import pytest

from tasks.crawl import parser_pool
from tasks.crawl.parser_pool import ParserProcesses

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
        process = parsers._free.get()
        parsers._free.put(process)
        os.kill(process._process.pid, sent)
        parsers._seconds = seconds
        assert parse(parsers.parse, *PAGE).result() == {"refused": why}
        parsers._seconds = 60.0
        assert parse(parsers.parse, *PAGE).result()["page"]["title"] == "Rye"
        assert process._process.poll() is not None
    finally:
        parsers.close()


def test_a_page_without_end_ends_its_parser_also_when_nobody_is_left_to_do_so():
    code = (
        "import sys, time, tasks.crawl.parser_process as parser\n"
        "parser._GRACE, parser.parse_body = 0, lambda *asked: time.sleep(600)\n"
        "parser.serve(parser.Connection(int(sys.argv[1])), 0.5)"
    )
    ours, theirs = Pipe()
    with theirs:
        child = subprocess.Popen([sys.executable, "-c", code, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    assert ours.recv_bytes() == b"ready"
    ours.send_bytes(b'["page", "http://a.org/", ""]')
    ours.send_bytes(b"")
    ours.close()
    assert child.wait(timeout=60) == -signal.SIGALRM


def test_parsers_that_do_not_start_are_no_fault_of_a_page(monkeypatch):
    monkeypatch.setattr(parser_pool.sys, "executable", "/bin/false")
    parsers = ParserProcesses(1, seconds=60.0)
    try:
        with pytest.raises(RuntimeError, match="could be started"):
            parsers.threads.submit(parsers.parse, *PAGE).result()
    finally:
        parsers.close()


def test_a_parser_starts_without_what_only_learning_needs():
    code = "import sys, tasks.crawl.parser_process; print({'numba', 'scipy', 'sklearn', 'pyarrow'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
