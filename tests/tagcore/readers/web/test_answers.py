"""What a body gives, as plain data."""

import json

import pytest

from tagcore.readers.web.answers import parse_body

HERE = "https://example.org/a"
LINKED = '<title>Rye</title><script type="application/ld+json">{"keywords": "rye \\ud83c"}</script><p>Bake it.</p>'
ENTRY = "<item><title>rye &amp;#xD83C;</title><link>/rye</link></item>"


@pytest.mark.parametrize(
    ("role", "content_type", "body"),
    [
        ("page", "text/html", LINKED.encode()),
        ("page", "text/plain; charset=utf-7", b"rye +2AA- bread"),
        ("page", "text/plain; charset=gb18030", b"rye \x83\x36\xc7\x38 bread"),
        ("feed", "text/xml", f'<rss version="2.0"><channel><title>t</title>{ENTRY}</channel></rss>'.encode()),
    ],
)
def test_no_half_letter_comes_out(role, content_type, body):
    found = parse_body(role, HERE, content_type, body)
    assert "rye" in json.dumps(found, ensure_ascii=False).encode().decode()
