"""Processes that ask for the same kernels at once, and the one folder that they share."""

import importlib
import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from numba.core import event

from tagcore.kernels.compiled import is_on_disk  # its package takes the lock into use

KERNELS = """
from numba import njit

@njit(cache=True)
def double(x):
    return 2 * x

@njit(cache=True)
def halves_down(n):
    if n <= 1:
        return 0.0
    return 1 + halves_down(n - 0.5)  # of another type

@njit(cache=True)
def next_even(x):
    return double(x) + 2

@njit(cache=True)
def fifteenfold(x):
    total = 0
    for _ in range(4):
        total = double(total) + x  # a constant in its first round
    return total + double(-2)
"""


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A module that no process has asked yet."""
    (tmp_path / "even_numbers.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(importlib.sys.modules, "even_numbers", raising=False)
    return importlib.import_module("even_numbers")


def _ask(kernels, numbers, start, answers):
    start.wait()
    with event.install_recorder("numba:compile") as recorder:
        found = [kernels.next_even(number) for number in numbers]
    compiled = [e.data["dispatcher"].py_func.__name__ for _, e in recorder.buffer if e.is_start]
    answers.put((found, compiled))


def test_of_four_processes_one_compiles_each_kernel_and_all_run_the_right_one(kernels):
    fork = multiprocessing.get_context("fork")
    start, answers = fork.Barrier(4), fork.Queue()
    numbers = [(3, 1.5), (1.5, 3), (3, 1.5), (1.5, 3)]  # two types, asked for in two orders
    processes = [fork.Process(target=_ask, args=(kernels, asked, start, answers)) for asked in numbers]
    for process in processes:
        process.start()
    found = [answers.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
    assert sorted(tuple(values) for values, _ in found) == [(5.0, 8), (5.0, 8), (8, 5.0), (8, 5.0)]
    compiled = sorted(name for _, names in found for name in names)
    assert compiled == ["double", "double", "next_even", "next_even"]


def test_threads_and_kernels_that_call_themselves_do_not_wait_for_one_another(kernels):
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(kernels.next_even, 3), pool.submit(kernels.double, 3), pool.submit(kernels.halves_down, 3)]
        assert [one.result(timeout=600) for one in asked] == [8, 6, 4.0]


def test_constants_do_not_make_a_kernel_compiled_again(kernels):
    with event.install_recorder("numba:compile") as recorder:
        assert kernels.fifteenfold(3) == 15 * 3 - 4
        assert kernels.fifteenfold(0.5) == 15 * 0.5 - 4
    compiled = [
        (e.data["dispatcher"].py_func.__name__, e.data["args"][0].name) for _, e in recorder.buffer if e.is_start
    ]
    expected = [(name, kind) for name in ("double", "fifteenfold") for kind in ("float64", "int64")]
    assert sorted(compiled) == expected


def test_a_folder_that_takes_no_lock_still_gives_its_kernels(kernels, tmp_path):
    assert kernels.double(2) == 4
    locks = list(tmp_path.rglob("*.lock"))
    assert locks
    for lock in locks:
        lock.unlink()
        lock.mkdir()
    again = importlib.reload(kernels)
    with event.install_recorder("numba:compile") as recorder:
        assert again.double(2) == 4
    assert len(recorder.buffer) == 0


def test_a_kernel_is_on_disk_once_it_was_compiled(kernels):
    assert not is_on_disk(kernels.double)
    assert kernels.double(2) == 4
    assert is_on_disk(kernels.double)


CALLER = """
from numba import njit
from raising import RAISE, RAISES, raised

@njit(cache=True)
def raised_twice(x):
    return raised(raised(x)) + RAISE + RAISES[1]
"""
CALLED = """
import numpy as np
from numba import njit
RAISE, RAISES = {constant}, np.array([0, {element}])

@njit(cache=True)
def raised(x):
    {remark}
    return x + {step}
"""


@pytest.mark.parametrize(
    ("changed", "expected", "n_compiled"),
    [
        ({}, 2, 0),
        ({"remark": "# more of the same"}, 2, 0),
        ({"step": 10}, 20, 2),
        ({"constant": 5}, 7, 2),
        ({"element": 7}, 9, 2),
    ],
)
def test_a_kernel_is_compiled_anew_where_what_it_calls_or_names_has_changed(
    changed, expected, n_compiled, tmp_path, monkeypatch
):
    """in another file, which numba does not look at."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "raising_twice.py").write_text(CALLER)
    usual = {"constant": 0, "element": 0, "step": 1, "remark": "# once"}
    for parts, answer in ((usual, 2), (usual | changed, expected)):
        (tmp_path / "raising.py").write_text(CALLED.format(**parts))
        for name in ("raising", "raising_twice"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        caller = importlib.import_module("raising_twice")
        with event.install_recorder("numba:compile") as recorder:
            assert caller.raised_twice(0) == answer
    assert len([e for _, e in recorder.buffer if e.is_start]) == n_compiled


SERVED = """
import sys
from tagcore.inference_only import serve_only
serve_only()
import tagcore.kernels
sys.path.insert(0, sys.argv[1])
import even_numbers
assert even_numbers.double(2) == 4
assert "numba.typed.typedlist" not in sys.modules  # one of many that only the compiler imports
assert even_numbers.next_even(2) == 6
assert "numba.typed.typedlist" in sys.modules
"""


def test_a_process_that_only_serves_loads_kernels_without_the_compiler_and_compiles_what_is_missing(kernels, tmp_path):
    assert kernels.double(2) == 4
    done = subprocess.run([sys.executable, "-c", SERVED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert is_on_disk(kernels.next_even)
