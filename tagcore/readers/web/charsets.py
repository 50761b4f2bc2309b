"""Bytes of a page as text, whatever its head claims about its letters."""

import codecs
import re

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})[\"']")
_HEADER = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_LONE = re.compile("[\ud800-\udfff]")  # half of a letter, as JSON may hold it: of no encoding
# the encodings of the web, and no other codec of Python; what pages call by an older name is its extension (WHATWG)
_WEB = {name: name for name in ("utf-8", "cp866", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp874")}
_WEB |= {f"iso8859-{part}": f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
_WEB |= {f"cp125{page}": f"cp125{page}" for page in range(9)}
_WEB |= {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874"}
_WEB |= {"gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs", "big5hkscs": "big5hkscs"}
_WEB |= {"shift_jis": "cp932", "cp932": "cp932", "euc_jp": "euc_jp", "iso2022_jp": "iso2022_jp"}
_WEB |= {"euc_kr": "cp949", "cp949": "cp949"}
_UTF_16 = {"utf-16": "utf-16-le", "utf-16-le": "utf-16-le", "utf-16-be": "utf-16-be"}
_OTHER_NAMES = {"x-sjis": "cp932", "x-gbk": "gbk", "windows-874": "cp874", "iso-8859-8-i": "iso8859-8"}


def decode_page(body: bytes, content_type: str = "") -> str:
    """Decodes by the byte order mark, then by what is claimed or as UTF-8 where all or most of it fits, else Latin."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, errors="replace")
    head = body[:4096]
    two_bytes = head.count(0) * 10 > len(head)  # markup alone has that many
    claims = [_codec(match[1], two_bytes) for match in [_HEADER.search(content_type)] if match]
    # what can be read in letters of one byte is not written in letters of two
    claims += [_codec(match[1].decode(), False) for match in (_XML.search(head), _META.search(head)) if match]
    names = [name for name in (*claims, "utf-8") if name]
    for decoded in (_all_decoded, _mostly_decoded):
        for name in names:
            if (text := decoded(body, name)) is not None:
                return text
    return body.decode("cp1252", errors="replace")


def _codec(claim: str, two_bytes: bool) -> str | None:
    """The codec that is meant by a claim; None where it is none of the web, or of two bytes where letters are not."""
    try:
        name = codecs.lookup(_OTHER_NAMES.get(claim.lower(), claim)).name
    except LookupError:
        return None
    return _UTF_16[name] if two_bytes and name in _UTF_16 else _WEB.get(name)


def _all_decoded(body: bytes, name: str) -> str | None:
    """Decodes a body; None where a byte of it does not fit."""
    try:
        return body.decode(name)
    except ValueError:
        return None


def _mostly_decoded(body: bytes, name: str) -> str | None:
    """Decodes what can be; None where of the letters beyond ASCII more than one in ten cannot."""
    text = body.decode(name, errors="replace")
    beyond = len(text) - len(text.encode("ascii", errors="ignore"))
    return text if text.count("\ufffd") * 10 <= beyond else None


def whole_letters(text: str) -> str:
    """Puts the sign for an unknown letter in place of every half one: no file and no database could hold it."""
    return _LONE.sub("\ufffd", text)
