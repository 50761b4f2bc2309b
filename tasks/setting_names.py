"""Names of the settings that there are, for whoever mistyped one."""

from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel


def settings_beside(root: type[BaseModel], place: tuple[str | int, ...]) -> str:
    """Tells which settings there are in the group of `root` where an unknown one was found."""
    group: Any = root
    for part in place[:-1]:
        if isinstance(part, str):
            group = _group_in(group.model_fields[part].annotation)
    names = list(group.model_fields)
    close = get_close_matches(str(place[-1]), names, 1)
    meant = f"perhaps {close[0]} is meant; " if close else ""
    return f"{meant}expected one of {', '.join(names)}"


def _group_in(annotation: Any) -> Any:
    """Finds the group of settings in an annotation such as list[ModelSettings] or TuningSettings | None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((group for part in get_args(annotation) if (group := _group_in(part)) is not None), None)
