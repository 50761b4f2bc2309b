"""Addresses of pages in one spelling, so that a page has one identity wherever it is linked from."""

import ipaddress
import re
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from tagcore.readers.web.charsets import whole_letters

LONGEST = 1000  # characters, as of any id of a document
_PORTS = {"http": 80, "https": 443}
_SAFE = "/?:@!$&'()*+,;=-._~%"
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_STRAY = re.compile(r"%(?![0-9a-fA-F]{2})")
# what says where a reader came from, not what is read
_TRACKING = re.compile(r"(?:utm_\w+|fbclid|gclid|dclid|msclkid|yclid|mc_[ce]id|igshid|_ga|ref_src)", re.IGNORECASE)


class BadUrl(ValueError):
    """An address that cannot be fetched; the message tells why, without a password in it."""


def canonical_url(address: str, base: str | None = None) -> str:
    """Spells an http(s) address in one way; BadUrl where it is none.

    >>> canonical_url("HTTP://Example.ORG:80/a/../b%7Ec?utm_source=x&q=1#top")
    'http://example.org/b~c?q=1'
    >>> canonical_url("../feed", base="https://example.org/a/b")
    'https://example.org/feed'
    """
    try:
        whole = urljoin(base, address.strip()) if base else address.strip()
        parts = urlsplit(whole)
        scheme, port = parts.scheme.lower(), parts.port
        host = _host(parts.hostname or "")
    except (ValueError, UnicodeError) as error:
        raise BadUrl(f"{shown_url(address)}: not an address ({type(error).__name__})") from None
    if scheme not in _PORTS:
        raise BadUrl(f"{shown_url(address)}: expected http:// or https://")
    if not host:
        raise BadUrl(f"{shown_url(address)}: names no host")
    place = host if port in (None, _PORTS[scheme]) else f"{host}:{port}"
    path = _without_dots(_escaped(parts.path))
    query = "&".join(q for q in _escaped(parts.query).split("&") if q and not _TRACKING.fullmatch(q.partition("=")[0]))
    url = urlunsplit((scheme, place, path or "/", query, ""))
    if len(url) > LONGEST:
        raise BadUrl(f"{shown_url(address)}: {len(url)} characters, expected at most {LONGEST}")
    return url


def origin_of(url: str) -> str:
    """Gives scheme, host and port of a canonical address: what robots.txt and limits are of."""
    return url[: url.index("/", url.index("//") + 2)]


def host_and_port(url: str) -> tuple[str, int]:
    """Gives what a canonical address connects to."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _PORTS[parts.scheme]


def is_url(text: str) -> bool:
    """Whether a text is meant as an address of the web."""
    return text[:8].lower().startswith(("http://", "https://"))


def has_login(address: str) -> bool:
    """Whether an address names a user or a password."""
    try:
        return "@" in urlsplit(address).netloc
    except ValueError:
        return "@" in address.partition("//")[2].partition("/")[0]


def shown_url(address: str) -> str:
    """Gives an address as messages show it: short, and without a user or a password."""
    plain = without_logins(address.strip())
    plain = re.sub(r"[^\x20-\x7e]", "?", plain)
    return plain if len(plain) <= 200 else plain[:200] + "…"


def without_logins(text: str) -> str:
    """Takes users and passwords out of all addresses in a text."""
    return re.sub(r"//[^/?#\s]*@", "//", text)


def _host(name: str) -> str:
    name = name.rstrip(".").lower()
    if ":" in name:
        return f"[{ipaddress.IPv6Address(name.partition('%')[0]).compressed}]"
    if not name.isascii():
        name = _ascii_host(name).rstrip(".")  # other characters become dots, too
    if name and not re.fullmatch(r"[a-z0-9_.-]{1,253}", name):
        raise ValueError("host")
    return name


def _ascii_host(name: str) -> str:
    """Spells a name of other letters as browsers do, by IDNA 2008; one that it refuses, such as ☃.net, by IDNA 2003."""
    import idna  # here: few names have such letters

    try:
        return idna.encode(name, uts46=True).decode()
    except idna.IDNAError:
        return name.encode("idna").decode()


def _escaped(text: str) -> str:
    """Escapes what must be escaped, and nothing that needs it not: other escapes may mean something to the site."""

    def plain(escape: re.Match) -> str:
        letter = chr(int(escape[1], 16))
        return letter if letter.isascii() and (letter.isalnum() or letter in "-._~") else escape[0].upper()

    text = whole_letters(_STRAY.sub("%25", text))
    return quote(_ESCAPE.sub(plain, text), safe=_SAFE)


def _without_dots(path: str) -> str:
    if "/." not in path:
        return path
    kept: list[str] = []
    parts = path.split("/")
    for part in parts[1:]:
        if part == "..":
            kept = kept[:-1]
        elif part != ".":
            kept.append(part)
    last = "/" if parts[-1] in (".", "..") and kept else ""
    return "/" + "/".join(kept) + last
