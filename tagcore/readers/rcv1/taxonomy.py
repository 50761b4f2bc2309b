"""Tree of topics of RCV1: a line with a parent and its children, or `parent: P child: C` as in LYRL2004."""

import re
from pathlib import Path

import numpy as np

from tagcore.corpus import Names
from tagcore.readers.bad_rows import BadRow, ReadError, shorten
from tagcore.readers.input_files import InputFile, ReadLimits, read_small

_EDGE = re.compile(r"parent:\s*(\S+)\s+child:\s*(\S+)(?:\s+child-description:.*)?")
_NO_PARENT = "None"


def read_taxonomy(path: Path | str) -> tuple[list[str], np.ndarray]:
    """Reads (names, number of the parent of each); the parent of the root is -1.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = Path(folder, "topics").write_text("Root ECON SPORT\\nECON E1")
    ...     names, parents = read_taxonomy(Path(folder, "topics"))
    >>> names, parents.tolist()
    (['Root', 'ECON', 'SPORT', 'E1'], [-1, 0, 0, 1])
    """
    file = InputFile(Path(path))
    names, parents, lines = Names(), dict[int, int](), dict[int, int]()
    for number, raw in enumerate(read_small(file, ReadLimits()).split(b"\n"), 1):
        line = raw.decode("ascii", errors="replace").strip()
        for parent, child in _edges(file, number, line):
            above = -1 if parent == _NO_PARENT else names.id(parent)
            below = names.id(child)
            if below in parents:
                raise BadRow(file.name, number, child, f"one parent for each topic; line {lines[below]} has another")
            parents[below], lines[below] = above, number
    if not len(names):
        raise ReadError(f"{file.name}: no topics")
    out = np.array([parents.get(i, -1) for i in range(len(names))])
    _check_tree(file, list(names), out)
    return list(names), out


def _edges(file: InputFile, number: int, line: str) -> list[tuple[str, str]]:
    if line.startswith("parent:"):
        edge = _EDGE.fullmatch(line)
        if not edge:
            raise BadRow(file.name, number, line, "parent: NAME child: NAME")
        return [(edge[1], edge[2])]
    parent, *children = line.split() or [""]
    if parent and not children:
        raise BadRow(file.name, number, line, "a parent and its children")
    return [(parent, child) for child in children]


def _check_tree(file: InputFile, names: list[str], parents: np.ndarray) -> None:
    """Raises unless the way up from every topic ends, and at the same root."""
    roots = np.flatnonzero(parents < 0)
    if len(roots) > 1:
        raise ReadError(
            f"{file.name}: {shorten(names[roots[0]])} and {shorten(names[roots[1]])} have no parent, expected one root"
        )
    above = np.where(parents < 0, np.arange(len(parents)), parents)
    for _ in range(len(parents).bit_length()):
        above = above[above]  # twice as many steps up each time
    if (lost := np.flatnonzero(parents[above] >= 0)).size:
        raise ReadError(
            f"{file.name}: {shorten(names[lost[0]])} is above itself or below such a topic, expected a tree"
        )
