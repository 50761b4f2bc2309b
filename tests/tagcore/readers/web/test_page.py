"""Pages as documents."""

import pytest

from tagcore.readers.web.page import read_page

HERE = "https://example.org/a"
BREAD = "The dough rests for a night before it meets the oven, and the crust thanks you for it in the morning. " * 4


def page(body: str, head: str = "") -> str:
    return f'<html lang="en-GB"><head><title>Bread</title>{head}</head><body>{body}</body></html>'


def test_the_main_text_is_found_among_the_rest():
    menu = "<nav>" + "".join(f"<a href=/{i}>Section {i}</a>" for i in range(20)) + "</nav>"
    read = read_page(page(f"{menu}<article><h1>Bread</h1><p>{BREAD}</p></article><footer>Imprint</footer>"), HERE)
    assert read.title == "Bread"
    assert read.language == "en"
    assert read.text == BREAD.strip()


def test_tags_are_read_and_taken_out_of_the_text():
    people = (
        '<li class="xfolkentry"><a class=author>ann</a> <a rel=tag>sourdough</a>, <a rel="nofollow tag">#rye</a></li>'
    )
    read = read_page(page(f"<article><p>{BREAD}</p></article><ul>{people}</ul>"), HERE)
    assert read.tags == ("sourdough", "rye")
    assert read.taggings == (("ann", "sourdough"), ("ann", "rye"))
    assert "sourdough" not in read.whole_text
    assert "ann" not in read.whole_text


def test_a_tag_in_the_midst_of_the_text_is_taken_out_too():
    read = read_page(page(f"<article><p>{BREAD} Filed under <a rel=tag href=/t>sourdough</a>.</p></article>"), HERE)
    assert read.tags == ("sourdough",)
    assert "Filed under" in read.text
    assert "sourdough" not in read.text


def test_keywords_are_tags_where_there_are_no_others():
    assert read_page(page(f"<p>{BREAD}</p>", '<meta name=keywords content="rye, oven;rye">'), HERE).tags == (
        "rye",
        "oven",
    )
    linked = '<script type="application/ld+json">{"@graph": [{"keywords": ["crumb"]}, 3]}</script>'
    assert read_page(page(f"<p>{BREAD}</p>", linked), HERE).tags == ("crumb",)


@pytest.mark.parametrize(
    ("href", "expected"),
    [("/b?utm_source=x", "https://example.org/b"), ("https://elsewhere.org/b", None), ("ftp://x/", None)],
)
def test_only_its_own_site_is_believed_as_canonical(href, expected):
    assert read_page(page("x", f'<link rel=canonical href="{href}">'), HERE).canonical == expected


def test_a_picture_is_known_by_what_is_said_around_it():
    body = (
        '<article><figure><img src=a.png alt="A loaf on a board"><figcaption>Baked on Sunday</figcaption></figure>'
        "</article>"
        "<div class=related><a href=/x>Baguette</a></div><ul id=comments><li>What a crumb</li></ul>"
    )
    read = read_page(page(body, '<meta property="og:description" content="My best so far">'), HERE)
    assert read.media
    for said in ("Baked on Sunday", "A loaf on a board", "My best so far", "Baguette", "What a crumb"):
        assert read.whole_text.count(said) == 1


def test_an_author_may_not_want_to_be_stored():
    for says in (
        '<meta name="robots" content="noarchive, NOINDEX">',
        "<meta name=robots content=noarchive><meta name=robots content=noindex>",
        '<meta name=robots content="none, noarchive">',
        "<meta name=Tagflow content=noindex>",
    ):
        assert not read_page(page("x", says), HERE).indexed, says
    assert read_page(page("x"), HERE).indexed
    other = "<meta name=otherbot content=noindex><meta name=robots content=nonesuch>"
    assert read_page(page("x", other), HERE).indexed


def test_deep_nesting_is_refused():
    with pytest.raises(ValueError, match="nested too deeply"):
        read_page("<div>" * 20_000, HERE)
