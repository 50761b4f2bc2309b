"""Names of time zones, checked before a schedule is to keep them."""

from difflib import get_close_matches
from zoneinfo import available_timezones


def require_timezone(name: str, where: str = "") -> str:
    """The name, where the time zone database has it; else a ValueError that tells `where` it stands."""
    known = available_timezones()
    if name in known:
        return name
    close = get_close_matches(name, sorted(known), 1)
    meant = f"perhaps {close[0]} is meant; " if close else ""
    place = f"{where} {name!r}: " if where else ""
    raise ValueError(f"{place}{meant}expected the name of a time zone, such as Europe/Berlin or UTC")
