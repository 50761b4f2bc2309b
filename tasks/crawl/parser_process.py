"""`python -m tasks.crawl.parser_process PIPE SECONDS`: parses bodies that come through a pipe until it is closed."""

import json
import signal
import sys
from math import ceil
from multiprocessing.connection import Connection

import feedparser  # noqa: F401  # before the first page, not with it
import trafilatura  # noqa: F401

from tagcore.readers.web.answers import parse_body

_GRACE = 5  # seconds beyond those of a page, in which whoever waits for it ends this process


def serve(pipe: Connection, seconds: float) -> None:
    """Says that it is ready, then answers each head and body with what `parse_body` found, as JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    pipe.send_bytes(b"ready")
    while True:
        try:
            role, url, content_type = json.loads(pipe.recv_bytes())
            body = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        signal.alarm(ceil(seconds) + _GRACE)  # a page without end ends it, also when nobody is left to do so
        try:
            found = parse_body(role, url, content_type, body)
        except (Exception, RecursionError):  # of hostile input any may come
            found = {"refused": "not readable"}
        signal.alarm(0)
        try:
            pipe.send_bytes(json.dumps(found).encode())
        except OSError:  # nobody is left who wants to know
            return


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), float(sys.argv[2]))
