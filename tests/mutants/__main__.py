"""Plants every fault in a copy of the tree and says which of them the tests notice: `python -m tests.mutants`."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants import FAULTS
from tests.mutants.fault import Fault

ROOT = Path(__file__).parents[2]
SECONDS = 900  # for the tests of one fault, compiling included
PASSED, FAILED = 0, 1  # exit codes of pytest


def copy_tree(target: Path) -> None:
    """Copies the files that git knows, as they are now."""
    known = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in known.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def run_tests(tree: Path, tests: str, cache: Path) -> tuple[int, str]:
    """The exit code of pytest on the copy and the last line that it printed."""
    environment = os.environ | {"PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": str(cache)}
    environment.setdefault("TAGFLOW_TEST_DATA", str(ROOT.parent / "shared" / "data"))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests.split()]
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return FAILED, f"no end after {SECONDS} s"
    return done.returncode, (done.stdout.strip().splitlines() or ["nothing printed"])[-1]


def is_caught(fault: Fault, tree: Path, cache: Path) -> bool:
    """Whether the tests of a fault fail with it. A kernel's callers were compiled with the right one inside, so a fault
    in a kernel gets a cache of its own."""
    path = tree / fault.file
    source, times = path.read_text(encoding="utf-8"), path.stat()
    with tempfile.TemporaryDirectory() as own:
        path.write_text(fault.plant(source), encoding="utf-8")
        try:
            code, last = run_tests(tree, fault.tests, Path(own) if "@njit" in source else cache)
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    if code not in (PASSED, FAILED):
        raise SystemExit(f"{fault.name}: pytest ended with {code}: {last}")
    return code == FAILED


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only the faults whose name or file holds one of these words")
    parser.add_argument("--list", action="store_true", help="print the faults and run nothing")
    parser.add_argument("--skip-healthy", action="store_true", help="do not run the tests without a fault first")
    arguments = parser.parse_args()
    chosen = [f for f in FAULTS if not arguments.names or any(n in f.name or n in f.file for n in arguments.names)]
    if arguments.list:
        print("\n".join(f"{fault.file}: {fault.name}" for fault in chosen))
        return
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        tree, cache = Path(folder, "tree"), Path(folder, "kernels")
        copy_tree(tree)
        for tests in [] if arguments.skip_healthy else dict.fromkeys(fault.tests for fault in chosen):
            code, last = run_tests(tree, tests, cache)
            if code != PASSED:
                raise SystemExit(f"without any fault, `pytest {tests}` ends with {code}: {last}")
        for number, fault in enumerate(chosen, start=1):
            begun = time.monotonic()
            caught = is_caught(fault, tree, cache)
            survivors += [] if caught else [fault]
            seconds = time.monotonic() - begun
            print(
                f"{number}/{len(chosen)} {'caught  ' if caught else 'SURVIVED'} {seconds:5.0f} s  {fault.name}",
                flush=True,
            )
    caught_faults = len(chosen) - len(survivors)
    print(f"\n{caught_faults} of {len(chosen)} planted faults are caught ({caught_faults / len(chosen):.1%})")
    for fault in survivors:
        print(f"survived: {fault.file}: {fault.name}")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
