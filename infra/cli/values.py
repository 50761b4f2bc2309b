"""name=value pairs from the command line."""

import tomllib
from typing import Any


def parse_pairs(pairs: list[str] | None) -> dict[str, Any]:
    """Values are TOML (0.5, true, [1, 2], "text"); a bare word is a text.

    >>> parse_pairs(["features.stem=english", "C=0.5", "seeds=[0, 1]"])
    {'features.stem': 'english', 'C': 0.5, 'seeds': [0, 1]}
    """
    values: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{pair!r}: expected name=value")
        try:
            values[name.strip()] = tomllib.loads(f"v = {value}")["v"]
        except tomllib.TOMLDecodeError:
            values[name.strip()] = value.strip()
    return values
