"""The pages of the demonstration site: a note as HTML, with who tagged it, a picture on some, and comments."""

from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from html import escape
from urllib.parse import quote


@dataclass(frozen=True)
class Note:
    """A document of the planted corpus and its taggings."""

    number: int
    title: str
    text: str
    time: datetime
    taggings: tuple[tuple[str, str], ...] = field(repr=False)  # (user, tag)

    @property
    def path(self) -> str:
        return f"/notes/{self.number}"

    @property
    def shows_picture(self) -> bool:
        """Whether it is a page around a picture, with little text of its own."""
        return self.number % 11 == 5

    @property
    def tags_of_users(self) -> dict[str, list[str]]:
        tags: dict[str, list[str]] = {}
        for user, tag in self.taggings:
            tags.setdefault(user, []).append(tag)
        return tags


def note_page(note: Note, canonical: str | None = None) -> str:
    """Gives the page of a note."""
    picture = _picture(note) if note.shows_picture else ""
    body = "" if note.shows_picture else "".join(f"<p>{escape(p)}</p>" for p in note.text.split("\n\n"))
    comments = "".join(f'<li class="comment">{escape(said)}</li>' for said in _comments(note))
    link = f'<link rel="canonical" href="{canonical}">' if canonical else ""
    kind = "image" if note.shows_picture else "article"
    head = f'{link}<meta property="og:type" content="{kind}">'
    return _page(
        note.title,
        f"<article><h1>{escape(note.title)}</h1>{picture}{body}</article>{_bookmarks(note)}"
        f'<section id="comments"><h2>Comments</h2><ul>{comments}</ul></section>',
        head,
    )


def front_page(newest: list[Note]) -> str:
    """Gives the front page: the newest notes, and where the feed is."""
    rows = "".join(f'<li><a href="{note.path}">{escape(note.title)}</a></li>' for note in newest)
    feed = '<link rel="alternate" type="application/atom+xml" href="/feed" title="newest notes">'
    return _page("Margin notes", f"<main><h1>Margin notes</h1><ul>{rows}</ul></main>", feed)


def feed(notes: list[Note], address: str) -> str:
    """Gives an Atom feed, with an entry for every person who tagged a note."""
    entries = "".join(
        f'<entry><title>{escape(note.title)}</title><link href="{address}{note.path}"/>'
        f"<id>{address}{note.path}#{quote(user)}</id><author><name>{escape(user)}</name></author>"
        f"<published>{note.time.isoformat()}</published><updated>{note.time.isoformat()}</updated>"
        f"{''.join(f'<category term={chr(34)}{escape(tag)}{chr(34)}/>' for tag in tags)}"
        f"<summary>{escape(note.text[:200])}</summary></entry>"
        for note in notes
        for user, tags in note.tags_of_users.items()
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom">'
        f"<title>Margin notes</title><id>{address}/feed</id>{entries}</feed>"
    )


def sitemap(addresses: list[str]) -> str:
    """Gives a sitemap."""
    rows = "".join(f"<url><loc>{escape(address)}</loc></url>" for address in addresses)
    head = '<?xml version="1.0" encoding="utf-8"?>'
    return f'{head}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'


def http_date(time: datetime) -> str:
    """Writes a time as headers do."""
    return format_datetime(time, usegmt=True)


def _page(title: str, body: str, head: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>{head}</head><body>'
        '<header><nav><a href="/">Margin notes</a> <a href="/about">About</a> <a href="/people">Who</a></nav></header>'
        f"{body}<footer><p>Made up by a program, to be read by one.</p></footer></body></html>"
    )


def _picture(note: Note) -> str:
    first, *_ = note.text.split(". ")
    return (
        f'<figure><img src="/pictures/{note.number}.png" alt="{escape(note.title)}">'
        f"<figcaption>{escape(note.text)}</figcaption></figure><p>{escape(first)}.</p>"
    )


def _bookmarks(note: Note) -> str:
    rows = "".join(
        f'<li class="xfolkentry"><a class="taggedlink" href="{note.path}">saved</a> by '
        f'<a class="author" href="/users/{quote(user)}">{escape(user)}</a>: '
        + ", ".join(f'<a rel="tag" href="/tags/{quote(tag)}">{escape(tag)}</a>' for tag in tags)
        + "</li>"
        for user, tags in note.tags_of_users.items()
    )
    return f'<aside class="people"><ul>{rows}</ul></aside>'


def _comments(note: Note) -> list[str]:
    said = ("Thanks, this helped.", "I do not agree, but well written.", "More of this, please.", "Saved for later.")
    return [said[(note.number + i) % len(said)] for i in range(note.number % 3)]
