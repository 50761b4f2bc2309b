"""Altered inputs to every parser of what comes from outside: nothing but an answer or a refusal may come of one.

Bytes of small valid inputs are changed, cut, doubled and moved, and pieces put in that parsers stumble over; one in
fifty is noise. Each is read in a process that is watched: what ends it, stands still for half a minute or raises
anything but the documented ValueError is a fault, and so is a message that names no file, or a file left half written.
A count that is cut off goes on where it was, as long as the code is the same.
"""

from pathlib import Path
from typing import Any

from tests.fuzz.altered_inputs import count, state_folder
from tests.fuzz.parsers import parsers


def run(data: Path | None, inputs: int = 100_000, only: str = "") -> list[dict[str, Any]]:
    """Counts what came of so many inputs of every parser, or of those that `only` names with commas between."""
    rows = []
    kept = state_folder()
    for name, parser in parsers().items():
        if only and name not in only.split(","):
            continue
        tally = count(name, parser, inputs, kept / f"{name}-{inputs}.json")
        rows.append(
            {
                "parser": name,
                "inputs": tally.next,
                "read": tally.read,
                "refused": tally.refused,
                "crashes": tally.what["crash"],
                "hangs": tally.what["hang"],
                "other faults": len(tally.faults) - tally.what["crash"] - tally.what["hang"],
                "longest, CPU s": tally.slowest,
            }
        )
        print(rows[-1], *tally.faults[:5], sep="\n", flush=True)
    return rows
