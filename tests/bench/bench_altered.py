"""Altered model folders: bytes, headers, types, shapes and values of arrays, facts and parameters of small models of
every class, one to three alterations each, drawn from a fixed seed.

Each folder is loaded and asked for the best of two rows (or users) in a process of its own. It must answer, or be
refused by the one documented ValueError; what the other columns count must not happen. Seconds are of the processor,
beyond compiling; compiling is what a kernel would need for types that `fit` never makes.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.fuzz.altered_folders import SLOW, Answer, Asker, model_names, stored_models

FOLDERS, PROCESSES = 5_000, 2


def run(data: Path | None, folders: int = FOLDERS) -> list[dict[str, Any]]:
    """Counts what came of the altered folders of every class."""
    models = {name: stored_models(name) for name in model_names()}
    with ThreadPoolExecutor(PROCESSES) as pool:
        askers = list(pool.map(Asker, [models] * PROCESSES))
        rows = []
        for name in models:
            shares = [range(first, folders, PROCESSES) for first in range(PROCESSES)]
            asked = [pool.submit(_ask_all, *pair, name) for pair in zip(askers, shares, strict=True)]
            rows.append(_row(name, [answer for share in asked for answer in share.result()]))
            print(rows[-1], flush=True)
        for asker in askers:
            asker.close()
    return rows


def _ask_all(asker: Asker, numbers: range, name: str) -> list[Answer]:
    found = []
    for number in numbers:
        found.append(asker(name, number))
        if found[-1].fault:
            print(name, number, found[-1], flush=True)
    return found


def _row(name: str, answers: list[Answer]) -> dict[str, Any]:
    what = Counter(answer.what.partition(":")[0] for answer in answers)
    return {
        "model": name,
        "folders": len(answers),
        "answered": what["answered"],
        "refused": what["refused"],
        "signals": sum(count for end, count in what.items() if end.startswith(("SIG", "exit"))),
        "hangs": what["hang"],
        "over a second": sum(answer.seconds > SLOW for answer in answers),
        "compiled": sum(answer.compiled > 0 for answer in answers),
        "other errors": what["load"] + what["ask"],
        "slowest s": max(answer.seconds for answer in answers),
    }
