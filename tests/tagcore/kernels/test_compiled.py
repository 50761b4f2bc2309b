"""Processes that compile at once, and the one folder of kernels that they share."""

import importlib
import multiprocessing
import os

from numba.core.caching import IndexDataCacheFile

from tagcore.kernels.compiled import is_on_disk  # its package takes the lock into use

STAMP = "the source as it is"


class Slow(IndexDataCacheFile):
    """Leaves the others time between the index and the file of a kernel."""

    def _save_index(self, overloads):
        super()._save_index(overloads)
        os.sched_yield()


def _save(folder, first, start):
    cache = Slow(folder, "kernel", STAMP)
    start.wait()
    for key in range(first, first + 40):
        cache.save(key, f"code of {key}")


def test_each_signature_keeps_its_own_code_when_four_processes_compile_at_once(tmp_path):
    spawn = multiprocessing.get_context("fork")
    start = spawn.Barrier(4)
    compilers = [spawn.Process(target=_save, args=(str(tmp_path), 40 * n, start)) for n in range(4)]
    for compiler in compilers:
        compiler.start()
    for compiler in compilers:
        compiler.join()
        assert compiler.exitcode == 0
    cache = IndexDataCacheFile(str(tmp_path), "kernel", STAMP)
    assert [cache.load(key) for key in range(160)] == [f"code of {key}" for key in range(160)]


def test_a_folder_that_takes_no_lock_still_gives_its_kernels(tmp_path):
    IndexDataCacheFile(str(tmp_path), "kernel", STAMP).save("key", "code")
    (lock,) = tmp_path.glob("*.lock")
    lock.unlink()
    lock.mkdir()
    assert IndexDataCacheFile(str(tmp_path), "kernel", STAMP).load("key") == "code"


def test_a_kernel_is_on_disk_once_it_was_compiled(tmp_path, monkeypatch):
    (tmp_path / "doubling.py").write_text(
        "from numba import njit\n\n@njit(cache=True)\ndef double(x):\n    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    double = importlib.import_module("doubling").double
    assert not is_on_disk(double)
    assert double(2) == 4
    assert is_on_disk(double)
