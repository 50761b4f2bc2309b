"""Whether an author lets a page be stored: what X-Robots-Tag and meta elements for robots say."""

from collections.abc import Iterable

NAME = "tagflow"  # by which a site may speak of this crawler
HEADER = "x-robots-tag"
_WITH_VALUES = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")


def joined_tag(headers: Iterable[tuple[str, str]]) -> str:
    """Joins what all such headers say; those that name a robot come last, as its name holds for all that follows it."""
    return ", ".join(sorted((value for name, value in headers if name.lower() == HEADER), key=_names_robot))


def may_be_stored(rules: str) -> bool:
    """Whether such rules, parted by commas, leave it to this crawler to store the page.

    >>> may_be_stored("noarchive, otherbot: noindex"), may_be_stored("otherbot: nofollow, tagflow: none")
    (True, False)
    """
    ours = True
    for rule in rules.lower().split(","):
        if _names_robot(rule):
            name, _, rule = rule.partition(":")
            ours = name.strip() == NAME
        if ours and not {"noindex", "none"}.isdisjoint(rule.partition(":")[0].split()):
            return False
    return True


def _names_robot(rule: str) -> bool:
    name, colon, _ = rule.partition(",")[0].partition(":")
    return bool(colon) and name.strip().lower() not in _WITH_VALUES
