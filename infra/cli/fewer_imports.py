"""Imports that a command spares which asks a model: what libraries import wherever they can, and need not."""

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec


class _Without:
    """An importer that does not find some modules."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self._names:
            raise ModuleNotFoundError(f"{name} is not needed to ask a model", name=name)


def import_less() -> None:
    """Spares what libraries import wherever they can and a model does as well without, a tenth of the start.

    From now on pyarrow finds no pandas, numba no cffi and no yaml; and parts of numpy are imported when they are used,
    not when scipy asks for all its names.
    """
    sys.meta_path.insert(0, _Without({"pandas", "cffi", "yaml"} - sys.modules.keys()))
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
