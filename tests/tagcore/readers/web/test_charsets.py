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


@pytest.mark.parametrize(
    ("text", "name"), [("Хлеб и соль, вода и мука.", "utf-8"), ("朱镕基说，你好，面包和水", "gb2312")]
)
@pytest.mark.parametrize("damage", [b"\xff", b"\xff\xff"])
def test_a_damaged_byte_costs_one_letter(text, name, damage):
    text *= 2
    body = text.encode("gbk" if name == "gb2312" else name) + damage
    assert decode_page(body, f"text/html; charset={name}") == text + "\ufffd" * len(damage)


@pytest.mark.parametrize("claimed", ['<meta charset="utf-16">', "<?xml version='1.0' encoding='utf-16'?>"])
@pytest.mark.parametrize("rest", ["<p>rye</p>", "<p>oats</p>", "<p>rye\0</p>"])
def test_letters_of_two_bytes_are_not_believed_of_what_is_read_in_one(claimed, rest):
    body = (claimed + rest).encode()
    assert decode_page(body) == decode_page(body, "text/html; charset=utf-16be") == claimed + rest


def test_letters_of_two_bytes_are_believed_of_a_header():
    assert decode_page("<p>rye</p>".encode("utf-16-le"), "text/html; charset=utf-16") == "<p>rye</p>"
    assert decode_page("<p>rye</p>".encode("utf-16-be"), "text/html; charset=UTF-16BE") == "<p>rye</p>"
