"""Bytes of a page as text, whatever its head claims about its letters."""

import codecs
import re

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})[\"']")
_HEADER = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# what pages call Latin-1 is Microsoft's extension of it
_MEANT = {"iso8859-1": "cp1252", "ascii": "cp1252"}


def decode_page(body: bytes, content_type: str = "") -> str:
    """Decodes by the byte order mark, then by what is claimed where it fits, as UTF-8 where that fits, else Latin."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, errors="replace")
    claims = [match[1] for match in [_HEADER.search(content_type)] if match]
    head = body[:4096]
    claims += [match[1].decode() for match in (_XML.search(head), _META.search(head)) if match]
    for claim in (*claims, "utf-8"):
        try:
            name = codecs.lookup(claim).name
            if not codecs.lookup(name)._is_text_encoding:  # rot13 and zlib are codecs, too
                continue
            return body.decode(_MEANT.get(name, name))
        except (LookupError, ValueError):
            continue
    return body.decode("cp1252", errors="replace")
