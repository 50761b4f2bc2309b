"""The state folder, found without all settings where nothing else is set: pydantic, which reads them, starts slowly."""

import os
from pathlib import Path

DEFAULT_HOME = Path(".tagflow")


def config_file() -> Path:
    """The TOML file of settings, whether or not there is one."""
    return Path(os.environ.get("TAGFLOW_CONFIG", "tagflow.toml"))


def database_in(state: Path) -> Path:
    """The database of a registry that is kept in the state folder."""
    return state / "mlflow.db"


def embedded_state(home: Path | None) -> Path | None:
    """The state folder, where the registry is kept in it and no file of settings could say otherwise; else None."""
    given = {name.upper(): value for name, value in os.environ.items()}
    if "TAGFLOW_CONFIG" in given or "TAGFLOW_MLFLOW" in given or config_file().exists():
        return None
    chosen = home or Path(given.get("TAGFLOW_HOME", str(DEFAULT_HOME)))
    return chosen.expanduser().absolute()
