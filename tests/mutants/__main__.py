"""Plants every fault in a copy of the tree and says which of them the tests notice: `python -m tests.mutants`."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants import FAULTS
from tests.mutants.fault import Fault

ROOT = Path(__file__).parents[2]
SECONDS = 900  # for the tests of one fault, compiling included
PASSED, FAILED = 0, 1  # exit codes of pytest


def copy_tree(target: Path) -> None:
    """Copies the files that git knows, as they are now, and the kernels that were compiled beside them."""
    known = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    compiled = (path.relative_to(ROOT) for path in (ROOT / "tagcore").rglob("__pycache__/*.nb?"))
    for name in (*known.splitlines(), *compiled):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def run_tests(tree: Path, tests: str) -> tuple[int, str]:
    """The exit code of pytest on the copy and the last line that it printed."""
    environment = os.environ | {"PYTHONPATH": str(tree)}
    environment.setdefault("TAGFLOW_TEST_DATA", str(ROOT.parent / "shared" / "data"))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests.split()]
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return FAILED, f"no end after {SECONDS} s"
    return done.returncode, (done.stdout.strip().splitlines() or ["nothing printed"])[-1]


def is_caught(fault: Fault, tree: Path) -> bool:
    """Whether the tests of a fault fail with it, in a tree of its own whose other files are those of the copy."""
    with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
        own = Path(folder, "tree")
        shutil.copytree(tree, own, copy_function=os.link)
        faulty = own / fault.file
        source = faulty.read_text(encoding="utf-8")
        faulty.unlink()  # the copy keeps its own
        faulty.write_text(fault.plant(source), encoding="utf-8")
        code, last = run_tests(own, fault.tests)
    if code > FAILED:
        raise SystemExit(f"{fault.name}: pytest ended with {code}: {last}")
    return code != PASSED  # a negative one is a signal, which a fault in a kernel may end in


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only the faults whose name or file holds one of these words")
    parser.add_argument("--list", action="store_true", help="print the faults and run nothing")
    parser.add_argument("--skip-healthy", action="store_true", help="do not run the tests without a fault first")
    parser.add_argument("--jobs", type=int, default=2, help="how many faults are tried side by side")
    arguments = parser.parse_args()
    chosen = [f for f in FAULTS if not arguments.names or any(n in f.name or n in f.file for n in arguments.names)]
    if arguments.list:
        print("\n".join(f"{fault.file}: {fault.name}" for fault in chosen))
        return
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        tree = Path(folder, "tree")
        copy_tree(tree)
        healthy = [] if arguments.skip_healthy else list(dict.fromkeys(fault.tests for fault in chosen))
        for tests, (code, last) in zip(healthy, pool.map(lambda tests: run_tests(tree, tests), healthy), strict=True):
            if code != PASSED:
                raise SystemExit(f"without any fault, `pytest {tests}` ends with {code}: {last}")

        def attempt(fault: Fault) -> tuple[bool, float]:
            begun = time.monotonic()
            return is_caught(fault, tree), time.monotonic() - begun

        survivors = []
        for number, (caught, seconds) in enumerate(pool.map(attempt, chosen), start=1):
            fault = chosen[number - 1]
            survivors += [] if caught else [fault]
            verdict = "caught  " if caught else "SURVIVED"
            print(f"{number}/{len(chosen)} {verdict} {seconds:5.0f} s  {fault.name}", flush=True)
    caught_faults = len(chosen) - len(survivors)
    print(f"\n{caught_faults} of {len(chosen)} planted faults are caught ({caught_faults / len(chosen):.1%})")
    for fault in survivors:
        print(f"survived: {fault.file}: {fault.name}")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
