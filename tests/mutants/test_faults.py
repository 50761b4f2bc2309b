"""The planted faults still fit the code: each text is where it is said to be, once, and has tests."""

from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import FAULTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_it_can_be_planted(fault):
    source = (ROOT / fault.file).read_text(encoding="utf-8")
    planted = fault.plant(source)
    assert planted != source
    compile(planted, fault.file, "exec")
    assert all((ROOT / word.partition("::")[0]).exists() for word in fault.tests.split() if word.startswith("tests/"))


def test_names_are_told_apart():
    assert [name for name, times in Counter(fault.name for fault in FAULTS).items() if times > 1] == []
