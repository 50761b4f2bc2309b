"""What things are called: names of data sets and registered models that are safe in paths and addresses."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tagcore.readers.dates import undated
from tagcore.readers.web.urls import is_url
from tagcore.store.datasets import StoreError
from tasks.data_settings import DEMO_SITE, DataSettings

_LONGEST = 48


def data_name(data: DataSettings) -> str:
    """Names a data set as the recipe does, or by its source without a date: bibtex, cooking, notes."""
    if data.name is not None:
        return data.name
    first, *others = data.sources
    whole = "\n".join(data.sources)
    if data.source == DEMO_SITE:
        return "demo"
    if is_url(first):
        plain = first.partition("//")[2].rstrip("/")
    else:
        last = undated(re.split(r"[/\\:]", first.rstrip("/\\"))[-1])
        plain = re.sub(r"(\.(csv|tsv|jsonl|json|txt|arff|zip|gz|html?|xml|warc|parquet))+$", "", last)
    if others:
        plain = f"{safe_name(plain)[:32]}-and-{len(others)}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
    return safe_name(plain, whole=whole)


def safe_name(text: str, whole: str | None = None) -> str:
    """Shortens a text to a name; where much is lost, a hash of the `whole` tells it from others."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-_")
    if 0 < len(name) <= _LONGEST:
        return name
    own = hashlib.sha256((whole or text).encode()).hexdigest()[:8]  # what is cut off may be all that tells two apart
    return f"{name[:_LONGEST]}-{own}".lstrip("-")


def artifact_key(what: str, of: str) -> str:
    """Names an artifact in Prefect, where its history is that of one model or report: decision-nightly-notes."""
    return re.sub(r"[^a-z0-9]+", "-", f"{what} {of}".lower()).strip("-")


def registered_name(recipe: str, data: str) -> str:
    """Names the registered models of a recipe on a data set: demo, nightly-bibtex. Only these are compared."""
    return recipe if recipe == data else f"{recipe}-{data}"


@contextmanager
def errors_name_source(data: DataSettings, stored: Path) -> Iterator[None]:
    """Lets errors about what the data holds name its source, which a person knows, not the folder that stores it."""
    try:
        yield
    except StoreError:  # the stored folder itself is what is wrong
        raise
    except ValueError as error:
        told = re.sub(rf"^{re.escape(str(stored))}[^:]*: ", "", str(error))
        raise ValueError(f"{data.shown}: {told}") from error


def line_called(name: str, labels: Iterable[str]) -> str | None:
    """The label of a table that a person means: the very same, or the only one with settings behind the name."""
    known = dict.fromkeys(labels)
    longer = [label for label in known if label.startswith(f"{name} ")]
    return name if name in known else longer[0] if len(longer) == 1 else None
