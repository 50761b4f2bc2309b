"""What a reader sees of HTML."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.text.html import strip_html, strip_html_of_title


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("<p>one</p><p>two</p>", "one two"),
        ("w<b>or</b>d <i>and</i> <a href='x'>li</a>nk", "word and link"),
        ("line<br>break<br/>again<BR >end", "line break again end"),
        ("<ul><li>a<li>b</ul>c", "a b c"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><th>c<td>d</table>", "a b c d"),
        ("<h1>Head</h1>text<hr>more", "Head text more"),
        ("<option>a<option>b", "a b"),
        ("seen<script>var a = '<p>no</p>';</script><style>p {}</style>", "seen"),
        ("<template><p>no</p></template><p hidden>no<b hidden>no</b></p>yes", "yes"),
        ("<script>never closed", ""),
        ("<!-- no -->yes<!-- never closed", "yes"),
        ("<!doctype html><title>Title</title><body>Body", "Title Body"),
        ("&lt;p&gt; &amp;amp; &#65;&#x42; caf&eacute;&nbsp;x &unknown;", "<p> &amp; AB café x &unknown;"),
        ("AT&T x &lt y", "AT&T x < y"),
        ("<a title='a > <p>'>text</a>", "text"),
        ("<pre>a\n   b</pre>", "a b"),
        ("<textarea>a</textarea>b<noscript>c</noscript>d", "a b c d"),
        ("<p>a\n  b\t c</p>", "a b c"),
        ("<p\nclass=x>a</p\n>b", "a b"),
        ("un<wbr>broken sub<sub>1</sub>", "unbroken sub1"),
        ("a<p", "a"),
        ("x\x00<b>y</b>", "xy"),
        ("<p>é 中文 🙂</p>", "é 中文 🙂"),
    ],
)
def test_visible_text(source, seen):
    assert strip_html(source) == seen


@pytest.mark.parametrize("text", ["", " two  spaces\n", "a < b && c > d", "1<2", "x & y", "<", "&", "<3", "5 &6"])
def test_plain_text_passes_unchanged(text):
    assert strip_html(text) is text


@pytest.mark.parametrize(
    ("title", "seen"),
    [
        ("How to centre a <div>?", "How to centre a <div>?"),
        ("Why does <script> block, and <table> not?", "Why does <script> block, and <table> not?"),
        ("Map<K, V> of a List<String> &amp; a Foo<Bar />", "Map<K, V> of a List<String> & a Foo<Bar />"),
        ("What is <?php or <!DOCTYPE html>?", "What is <?php or <!DOCTYPE html>?"),
        ("How to centre a &lt;div&gt;?", "How to centre a <div>?"),
        ("if a<b and b>c  &eacute;", "if a<b and b>c é"),
        ("<b>A &amp; B</b>", "A & B"),
        ("<div>A <b>B", "<div>A <b>B"),  # cut off, or words: nothing tells
        ("A<br>B<hr/>C", "A B C"),
        ("<p>A", "A"),
        ("<font color=red>A", "A"),
        ("<a href='x'>A", "A"),
        ("A<!-- no -->", "A"),
        ("<pre> stays", "<pre> stays"),
        ("two  spaces", "two  spaces"),
    ],
)
def test_a_title_that_speaks_of_elements_keeps_them(title, seen):
    assert strip_html_of_title(title, len(title)) == seen
    assert strip_html_of_title(seen) == seen


@given(st.text().filter(lambda text: "\x00" not in text and "\r" not in text))
def test_escaped_text_comes_back(text):
    assert strip_html(f"<p>{html.escape(text)}</p>") == " ".join(text.split())


@given(st.text(alphabet="<>/!-&;pbr= \"'ascriptyle\x00é", max_size=60))
def test_any_soup_has_a_text(soup):
    assert isinstance(strip_html(soup), str)


def test_large_texts_are_refused():
    with pytest.raises(ValueError, match="HTML of 11 characters, expected at most 10"):
        strip_html("<p>" + "x" * 8, limit=10)
    assert strip_html("<p>" + "x" * 7, limit=10) == "x" * 7


@pytest.mark.parametrize(
    "bomb",
    [
        "<div>" * 200_000,
        "<table><tr><td>" * 100_000,
        # each paragraph would open all the bold elements again
        "".join(f"<b a={i}>" for i in range(2000)) + "<p>x" * 100_000,
        "<div>" * 200_000 + "</div>" * 200_000,
    ],
    ids=["div", "table", "formatting", "closed"],
)
def test_nesting_that_would_stall_the_parser_is_refused(bomb):
    with pytest.raises(ValueError, match="nested too deeply"):
        strip_html(bomb)


def test_long_flat_documents_are_no_bombs():
    rows = "<tr><td>a<td><b>b</b></tr>" * 20_000
    assert strip_html(f"<table>{rows}</table>") == " ".join(["a b"] * 20_000)
