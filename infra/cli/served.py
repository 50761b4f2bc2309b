"""The stored folder of the model that a command asks: the one that was named, or the one in service."""

from pathlib import Path


def served_folder(model: str | None, home: Path | None, kind: str) -> Path:
    """A folder as it is, that of a registry address, or that of the one champion of this kind of the state folder's
    registry."""
    if model is not None and not model.startswith("models:/"):
        return Path(model)
    if (folder := _champion_here(model, home, kind)) is not None:  # MLflow takes seconds to import
        return folder
    from tagcore.store.datasets import stored_kind
    from tasks.registry.client import champions, require_reachable
    from tasks.workspace import open_workspace

    workspace = open_workspace(home=home)
    if workspace.settings.mlflow is None and not workspace.settings.state.is_dir():
        raise ValueError(f"{workspace.settings.state}: no state folder, so no model is in service yet: `tagflow run`")
    registry = workspace.registry
    require_reachable(registry)  # MLflow itself tries for minutes
    if model is not None:
        return registry.fetch(model)
    addresses = [f"models:/{name}@champion" for name in champions(registry)]
    if len(addresses) == 1:
        return registry.fetch(addresses[0])
    folders = {address: registry.fetch(address) for address in addresses}
    right = [address for address in addresses if stored_kind(folders[address]) == kind]
    if len(right) == 1:
        return folders[right[0]]
    which = ", ".join(right)
    raise ValueError(f"say which model with --model: {which}" if right else "no model is in service yet: `tagflow run`")


def _champion_here(model: str | None, home: Path | None, kind: str) -> Path | None:
    """The folder of the champion that is asked for, or of the only one of this kind; None where the registry must be
    asked."""
    from tagcore.store.datasets import stored_kind
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
        right = [folder for folder in folders.values() if len(folders) == 1 or stored_kind(folder) == kind]
        return right[0] if len(right) == 1 else None
    name, _, alias = model.removeprefix("models:/").partition("@")
    return folders.get(name) if alias == "champion" else None
