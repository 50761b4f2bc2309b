"""Addresses in one spelling."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tagcore.readers.web.urls import BadUrl, canonical_url, has_login, host_and_port, origin_of, shown_url


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://Example.org", "http://example.org/"),
        ("https://example.org:443/a#b", "https://example.org/a"),
        ("http://example.org:8080/./a/../b/", "http://example.org:8080/b/"),
        ("http://example.org/%7euser/%2f?b=2&a=1", "http://example.org/~user/%2F?b=2&a=1"),
        ("http://example.org/a b?q=ü", "http://example.org/a%20b?q=%C3%BC"),
        ("http://example.org/100%", "http://example.org/100%25"),
        ("http://user:secret@example.org/a", "http://example.org/a"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("https://Faß.de/", "https://xn--fa-hia.de/"),  # not fass.de, which is another's
        ("http://βόλος.com./", "http://xn--nxasmm1c.com/"),
        ("http://☃.net/", "http://xn--n3h.net/"),  # by IDNA 2003 alone
        ("http://ü_x.example。/", "http://xn--_x-wka.example/"),
        ("http://[::1]:80/x", "http://[::1]/x"),
        ("http://example.org/?utm_source=a&x=1&fbclid=3", "http://example.org/?x=1"),
        ("http://example.org./a", "http://example.org/a"),
        ("http://example.org/a\udcb1b", "http://example.org/a%EF%BF%BDb"),  # half a letter, as JSON may hold it
    ],
)
def test_one_spelling(address, expected):
    assert canonical_url(address) == expected
    assert canonical_url(expected) == expected


@pytest.mark.parametrize(
    "address",
    [
        *("", "ftp://example.org/", "javascript:alert(1)", "file:///etc/passwd", "http://", "http://a b/", "x"),
        "http://\N{ONE DOT LEADER}/",
        *("http://[::1", "http://example.org:99999/", "http://example.org/" + "a" * 2000),
    ],
)
def test_what_is_no_address_is_told_without_a_password(address):
    with pytest.raises(BadUrl):
        canonical_url(address)
    assert "secret" not in shown_url("http://ann:secret@example.org/" + address)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60))
@example("\N{ONE DOT LEADER}")
@example("a\N{ONE DOT LEADER}")
def test_any_text_becomes_an_address_that_stays_or_none(text):
    for address in (text, f"http://{text}", f"http://example.org/{text}"):
        try:
            url = canonical_url(address)
        except BadUrl:
            continue
        assert canonical_url(url) == url
        assert url.isascii()
        assert url.startswith(origin_of(url) + "/")
        assert host_and_port(url)[0]
        assert not has_login(url)
