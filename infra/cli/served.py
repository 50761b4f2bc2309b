"""The stored folder of the model that a command asks: the one that was named, or the one in service."""

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec
from pathlib import Path


class _Without:
    """An importer that does not find some modules."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self._names:
            raise ModuleNotFoundError(f"{name} is not needed to ask a model", name=name)


def import_less() -> None:
    """Spares what libraries import wherever they can and a model does as well without, a tenth of the start.

    From now on pyarrow finds no pandas and numba no cffi; and parts of numpy are imported when they are used, not when
    scipy asks for all its names.
    """
    sys.meta_path.insert(0, _Without({"pandas", "cffi"} - sys.modules.keys()))
    for part in ("f2py", "testing"):
        _import_at_use("numpy", part)


def _import_at_use(package: str, part: str) -> None:
    name = f"{package}.{part}"
    if name in sys.modules or (spec := find_spec(name)) is None or spec.loader is None:
        return
    spec.loader = LazyLoader(spec.loader)
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    setattr(sys.modules[package], part, module)


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
