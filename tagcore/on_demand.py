"""Names of a package that are imported when somebody asks for them: all models together take seconds, one does not."""

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def names_on_demand(package: str, source: str) -> Callable[[str], Any]:
    """Gives the `__getattr__` of a package whose file `source` imports its names for type checkers alone."""
    modules = _imported_for_type_checkers(source)

    def get_name(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(modules[name]), name)

    return get_name


def _imported_for_type_checkers(source: str) -> dict[str, str]:
    """The names that the file imports under `if TYPE_CHECKING:`, each with its module."""
    statements = ast.parse(Path(source).read_text(encoding="utf-8")).body
    blocks = [s.body for s in statements if isinstance(s, ast.If) and ast.unparse(s.test) == "TYPE_CHECKING"]
    imports = [line for block in blocks for line in block if isinstance(line, ast.ImportFrom)]
    return {alias.name: line.module or "" for line in imports for alias in line.names}
