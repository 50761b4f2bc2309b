"""Names of tags as people type them, evened out so that one tag has one name."""

import unicodedata


def plain_tag(text: str) -> str:
    """Lower case, composed letters, one space where there was any white space.

    >>> plain_tag("  Highly\\tQuotable ")
    'highly quotable'
    """
    return " ".join(unicodedata.normalize("NFC", text).lower().split())
