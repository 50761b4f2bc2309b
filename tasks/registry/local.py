"""Where the models in service lie on this machine, read from MLflow's own tables: to import MLflow takes seconds."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlparse

_IN_SERVICE = """
    select a.name, v.storage_location from registered_model_aliases a
    join model_versions v on v.name = a.name and v.version = a.version
    where a.alias = 'champion'
"""


def champion_folders(database: Path) -> dict[str, Path]:
    """Registered names and the stored folders of their champions; empty where MLflow must be asked instead: the
    database is none, is of another form, or names artifacts that lie elsewhere."""
    if not database.is_file():
        return {}
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
            rows = connection.execute(_IN_SERVICE).fetchall()
    except sqlite3.Error:
        return {}
    folders = {}
    for name, location in rows:
        address = urlparse(location or "")
        stored = (
            [] if address.scheme != "file" else list(Path(unquote(address.path), "artifacts").glob("*/manifest.json"))
        )
        if len(stored) != 1:
            return {}
        folders[name] = stored[0].parent
    return folders
