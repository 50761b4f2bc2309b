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
_WEB |= {"utf-16": "utf-16-le", "utf-16-le": "utf-16-le", "utf-16-be": "utf-16-be"}
_OTHER_NAMES = {"x-sjis": "cp932", "x-gbk": "gbk", "windows-874": "cp874", "iso-8859-8-i": "iso8859-8"}


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
            return body.decode(_WEB[codecs.lookup(_OTHER_NAMES.get(claim.lower(), claim)).name])
        except (LookupError, ValueError):
            continue
    return body.decode("cp1252", errors="replace")


def whole_letters(text: str) -> str:
    """Puts the sign for an unknown letter in place of every half one: no file and no database could hold it."""
    return _LONE.sub("\ufffd", text)
