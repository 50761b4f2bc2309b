"""Altered inputs to every parser, a few of the many that `python -m tests.bench fuzz` takes, and who counts them."""

import gc
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.fuzz.altered_inputs import count, one_input
from tests.fuzz.parsers import Parser, parsers

INPUTS = 25


@pytest.mark.parametrize("name", ["pages", "feeds", "sitemaps", "robots.txt", "addresses", "WARC", "ratings"])
def test_altered_inputs_are_read_or_refused(name, tmp_path):
    parser = parsers()[name]
    for number in range(INPUTS):
        one_input(name, parser, number, tmp_path)
        assert not list(tmp_path.iterdir())


def test_every_format_is_among_the_parsers():
    from tagcore.readers.open import FORMATS

    names = " ".join(f"{name} {' '.join(parser.seeds[0])}" for name, parser in parsers().items())
    told = {"csv": ".csv", "xc": "a.txt", "vw": ".vw", "matlab": ".mat", "uci": "a.data", "warc": "WARC"}
    told |= {"svmlight": ".svm", "stackexchange": "Posts.xml", "bookmarks": "bookmarks.html", "bibsonomy": "tas"}
    told["hetrec-bookmarks"] = "bookmarks.dat"
    assert [name for name in FORMATS if told.get(name, name) not in names] == []


def test_crashes_hangs_and_other_faults_are_counted_and_a_count_goes_on(tmp_path):
    def read(files, folder, number):
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 5:
            time.sleep(60)
        if number == 7:
            raise KeyError("what a parser should not raise")
        if number % 2:
            raise ValueError("refused")

    parser, state = Parser([{"": b"x"}], read), tmp_path / "state.json"
    first = count("one", parser, 6, state, hang=1.0)
    assert (first.read, first.refused, first.next) == (3, 1, 6)
    assert first.what == {"crash": 1, "hang": 1}
    whole = count("one", parser, 10, state, hang=1.0)
    assert (whole.read, whole.refused, whole.next) == (5, 2, 10)
    assert whole.what == {"crash": 1, "hang": 1, "KeyError": 1}
    assert [fault.partition(":")[0] for fault in whole.faults] == ["3", "5", "7"]
    assert whole.faults[1].startswith(f"5: hang: over 1 s: {Path(__file__).name}:")  # where it stood


def test_no_thread_waits_for_garbage_collection_to_end_it(tmp_path):
    """where that came while another thread began, both stood still for ever."""
    before = set(threading.enumerate())
    gc.disable()
    try:
        for number in (36_671, 36_679):  # packed, with a record that is none
            assert not one_input("WARC", parsers()["WARC"], number, tmp_path)
            for thread in set(threading.enumerate()) - before:
                thread.join(10)
                assert not thread.is_alive()
    finally:
        gc.enable()
