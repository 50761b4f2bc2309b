"""Names of the settings that there are, for whoever mistyped one."""

from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel


def settings_beside(root: type[BaseModel], place: tuple[str | int, ...]) -> str:
    """Tells which settings there are in the group of `root` where an unknown one was found; nothing where that is no
    group of settings that we know by name."""
    annotation: Any = root
    for part in place[:-1]:
        annotation = _step_into(annotation, part)
    group = _group_in(annotation)
    if group is None:
        return ""
    names = list(group.model_fields)
    close = get_close_matches(str(place[-1]), names, 1)
    meant = f"perhaps {close[0]} is meant; " if close else ""
    return f"{meant}expected one of {', '.join(names)}"


def _step_into(annotation: Any, part: str | int) -> Any:
    """The annotation of what stands at a part of a place: a setting of a group, or a key of a dictionary."""
    if get_origin(annotation) is dict:
        return get_args(annotation)[1]
    field = getattr(_group_in(annotation), "model_fields", {}).get(part)
    return annotation if field is None else field.annotation  # no field: an item of a list, or a kind of a union


def _group_in(annotation: Any) -> Any:
    """Finds the group of settings in an annotation such as list[ModelSettings] or TuningSettings | None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((group for part in get_args(annotation) if (group := _group_in(part)) is not None), None)
