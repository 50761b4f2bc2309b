"""What things are called: names of data sets and registered models that are safe in paths and addresses."""

import hashlib
import re

_LONGEST = 48


def data_name(source: str) -> str:
    """Shortens a source to a name: bibtex, cooking, notes."""
    last = re.split(r"[/\\:]", source.rstrip("/\\"))[-1]
    plain = re.sub(r"(\.(csv|tsv|jsonl|json|txt|arff|zip|gz))+$", "", last)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", plain).strip("-_")
    if 0 < len(name) <= _LONGEST:
        return name
    own = hashlib.sha256(source.encode()).hexdigest()[:8]  # what is cut off may be all that tells two apart
    return f"{name[:_LONGEST]}-{own}".lstrip("-")


def registered_name(recipe: str, source: str) -> str:
    """Names the registered models of a recipe on a data set: demo, nightly-bibtex. Only these are compared."""
    data = data_name(source)
    return recipe if recipe == data else f"{recipe}-{data}"
