"""Bytes as letters."""

import pytest

from tagcore.readers.web.charsets import decode_page


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("Crème brûlée".encode(), "text/html; charset=utf-8"),
        ("Crème brûlée".encode("cp1252"), "text/html; charset=utf-8"),  # a lie
        ("Crème brûlée".encode("cp1252"), "text/html; charset=iso-8859-1"),
        ("Crème brûlée".encode(), "text/html; charset=rot13"),
        ("Crème brûlée".encode(), "text/html; charset=no-such"),
        ("\ufeffCrème brûlée".encode("utf-16-le"), ""),
        (b'<meta charset="cp1252">' + "Crème brûlée".encode("cp1252"), ""),
    ],
)
def test_letters_are_read_whatever_is_claimed(body, content_type):
    assert decode_page(body, content_type).endswith("Crème brûlée")


@pytest.mark.parametrize("claim", ["utf-7", "unicode_escape", "raw_unicode_escape", "punycode", "idna", "utf-32"])
def test_only_encodings_of_the_web_are_believed(claim):
    body = b"rye-bread +2AA- \\ud83c \\x41"
    assert decode_page(body, f"text/plain; charset={claim}") == body.decode()


@pytest.mark.parametrize(
    ("text", "claim", "meant"),
    [
        ("朱镕基说，你好", "gb2312", "gbk"),
        ("①番のパン", "shift_jis", "cp932"),
        ("①番のパン", "x-sjis", "cp932"),
        ("똠방각하", "euc-kr", "cp949"),
        ("“crème”", "iso-8859-1", "cp1252"),
        ("ğüş", "iso-8859-9", "cp1254"),
    ],
)
def test_an_older_name_means_what_the_web_means_by_it(text, claim, meant):
    assert decode_page(text.encode(meant), f"text/html; charset={claim}") == text
