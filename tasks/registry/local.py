"""Where the models in service lie on this machine, read from MLflow's own tables: to import MLflow takes seconds."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

_IN_SERVICE = """
    select a.name, v.version, v.storage_location from registered_model_aliases a
    join model_versions v on v.name = a.name and v.version = a.version
    where a.alias = 'champion'
"""


@dataclass(frozen=True)
class Champion:
    """The version in service of a registered model, and the folder that it is stored in."""

    version: str
    folder: Path


def champions_here(database: Path) -> dict[str, Champion]:
    """Registered names and their champions, as they are now; empty where MLflow must be asked instead: the database is
    none, is of another form, or names artifacts that lie elsewhere."""
    if not database.is_file():
        return {}
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
            rows = connection.execute(_IN_SERVICE).fetchall()
    except sqlite3.Error:
        return {}
    champions = {}
    for name, version, location in rows:
        address = urlparse(location or "")
        stored = (
            [] if address.scheme != "file" else list(Path(unquote(address.path), "artifacts").glob("*/manifest.json"))
        )
        if len(stored) != 1:
            return {}
        champions[name] = Champion(str(version), stored[0].parent)
    return champions
