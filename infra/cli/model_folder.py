"""The stored folder of the model that a command asks: the one that was named, or the one in service."""

from collections.abc import Mapping
from pathlib import Path

_ROLES = {"model": "tagger", "recommender": "recommender"}  # by the kind of data set that a model is stored as
_COMMANDS = {"model": "tagflow tag", "recommender": "tagflow recommend"}


def served_folder(model: str | None, home: Path | None, kind: str) -> Path:
    """A folder as it is, that of a registry address, or that of the one champion of this kind of the state folder's
    registry."""
    if model is not None and not model.startswith("models:/"):
        return Path(model)
    if (folder := _champion_here(model, home, kind)) is not None:  # MLflow takes seconds to import
        return folder
    from tasks.registry.client import champions, require_reachable
    from tasks.workspace import open_workspace

    workspace = open_workspace(home=home)
    if workspace.settings.mlflow is None and not workspace.settings.state.is_dir():
        raise ValueError(f"{workspace.settings.state}: no state folder, so no model is in service yet: `tagflow run`")
    registry = workspace.registry
    require_reachable(registry)  # MLflow itself tries for minutes
    if model is not None:
        return registry.fetch(model)
    return _only_one({name: registry.fetch(_address(name)) for name in champions(registry)}, kind)


def _champion_here(model: str | None, home: Path | None, kind: str) -> Path | None:
    """The folder of the champion that is asked for, or of the only one of this kind; None where the registry must be
    asked."""
    from tasks.registry.local import champions_here
    from tasks.state_folder import database_in, embedded_state

    state = embedded_state(home)
    if state is None:
        from tasks.settings import load_settings

        settings = load_settings(home=home)
        if settings.mlflow is not None:
            return None
        state = settings.state
    folders = {name: champion.folder for name, champion in champions_here(database_in(state)).items()}
    if model is None:
        return _only_one(folders, kind) if folders else None
    name, _, alias = model.removeprefix("models:/").partition("@")
    return folders.get(name) if alias == "champion" else None


def _only_one(folders: Mapping[str, Path], kind: str) -> Path:
    """The folder of the only champion of this kind, of all by name; ValueError tells what there is instead."""
    from tagcore.store.datasets import stored_kind

    if not folders:
        raise ValueError("no model is in service yet: `tagflow run`")
    kinds = {name: stored_kind(folder) for name, folder in sorted(folders.items())}
    if set(kinds.values()) == {None}:  # damaged: what is wrong is told by those who load it
        kinds = dict.fromkeys(kinds, kind)
    right = [name for name, found in kinds.items() if found == kind]
    if len(right) == 1:
        return folders[right[0]]
    if right:
        raise ValueError(f"say which model with --model: {', '.join(map(_address, right))}")
    other = next(found for found in kinds.values() if found is not None)
    others = [name for name, found in kinds.items() if found == other]
    there = f"is the {_ROLES.get(other, other)}" if len(others) == 1 else f"are the {_ROLES.get(other, other)}s"
    how = f": `{_COMMANDS[other]}`" if other in _COMMANDS else ""
    raise ValueError(f"no {_ROLES[kind]} is in service; there {there} {', '.join(others)}{how}")


def _address(name: str) -> str:
    return f"models:/{name}@champion"
