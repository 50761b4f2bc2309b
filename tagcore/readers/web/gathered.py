"""The documents of a collection: one for every page, however many addresses lead to it and however often it is told."""

import hashlib
import json
from collections.abc import Iterator

from tagcore.corpus import Block, Names, documents_table, taggings_table
from tagcore.readers.web.collection import Collection, time_of
from tagcore.readers.web.near_duplicates import find_duplicates

_COLUMNS = ("id", "url", "title", "text", "language", "fetched_at", "vanished_at")


class GatheredDocuments:
    """Documents in the order in which nights brought them, so that earlier ones keep their places.

    A page's id is the address that it calls its own. Its tags are those that people gave it, as feeds, exports and the
    page itself tell; where nobody did, its own. What cannot be read as text, such as a picture, is known by what a feed
    said of it.
    """

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.tags = Names()
        self.words = None
        self.repeated = 0  # addresses and near-duplicates that are told under another document
        self._resolve()

    def __len__(self) -> int:
        return len(self._order)

    def fingerprint(self) -> str:
        """Hashes all that decides the documents."""
        digest = hashlib.sha256()
        for block in self.blocks(1024):
            for column in (*block.documents.columns, *block.taggings.columns):
                for chunk in column.chunks:
                    digest.update(json.dumps(chunk.to_pylist(), default=str).encode())
        digest.update(json.dumps(list(self.tags)).encode())
        return digest.hexdigest()

    def blocks(self, rows: int = 8192) -> Iterator[Block]:
        """Reads the documents, `rows` at a time."""
        for first in range(0, len(self._order), rows):
            yield self._block(self._order[first : first + rows])

    def _block(self, addresses: list[str]) -> Block:
        columns: dict[str, list] = {name: [] for name in _COLUMNS}
        taggings: tuple[list, list, list, list, list] = ([], [], [], [], [])
        for number, url in enumerate(addresses):
            document = self._document(url)
            for name, values in columns.items():
                values.append(document[name])
            for (user, tag), time in sorted(self._taggings(url, document["tags"]).items()):
                one = number, self.tags.id(tag), user or None, 1, time_of(time)
                for column, value in zip(taggings, one, strict=True):
                    column.append(value)
        return Block(documents_table(**columns), taggings_table(*taggings))

    def _document(self, url: str) -> dict:
        (row,) = self.collection.rows(
            "SELECT p.canonical, coalesce(p.title, i.title), p.text, p.language, p.fetched_at, p.tags, "
            "p.vanished_at "
            "FROM pages p LEFT JOIN items i USING (url) WHERE p.url = ? UNION ALL "
            "SELECT i.url, i.title, coalesce(i.summary, ''), NULL, i.time, '[]', s.vanished_at "
            "FROM items i JOIN pictures s USING (url) "
            "WHERE i.url = ? AND NOT EXISTS (SELECT 1 FROM pages WHERE url = ?)",
            url,
            url,
            url,
        )
        id_, title, text, language, fetched_at, tags, vanished_at = row
        return {
            "id": id_,
            "url": id_,
            "title": title,
            "text": text,
            "language": language,
            "fetched_at": time_of(fetched_at),
            "vanished_at": time_of(vanished_at),
            "tags": json.loads(tags),
        }

    def _taggings(self, url: str, own: list[list[str]]) -> dict[tuple[str, str], int | None]:
        given: dict[tuple[str, str], int | None] = {(user, tag): None for user, tag in own if user}
        for alias in self._aliases[url]:
            for user, tag, time in self.collection.rows("SELECT user, tag, time FROM taggings WHERE url = ?", alias):
                known = given.get((user, tag))
                given[user, tag] = time if known is None else known if time is None else min(known, time)
        return given or {(user, tag): None for user, tag in own}  # noqa: C420, pairs come as lists

    def _resolve(self) -> None:
        """Settles which addresses are one document, by redirects, by canonical addresses, by text; in fixed order."""
        rows = self.collection.rows
        nights: dict[str, int] = {}
        own: dict[str, str] = {}  # address -> the one that its page calls its own; one string where they are the same
        for url, canonical, night in rows("SELECT url, canonical, first_night FROM pages"):
            nights[url], own[url] = night, url if canonical == url else canonical
        targets = dict(rows("SELECT url, target FROM addresses WHERE target IS NOT NULL"))
        shown = rows("SELECT url, night FROM items JOIN pictures USING (url)")
        nights |= {url: night for url, night in shown if url not in own}

        def end(url: str) -> str:
            """Where redirects lead from an address; in a circle, as those of two nights may be, nowhere else."""
            at = url
            for _ in targets:
                if (following := targets.get(at)) is None:
                    return at
                at = following
            return url if at in targets else at

        for url in [url for url in nights if (at := end(url)) != url and at in nights]:
            del nights[url]  # it has moved: what it was is told no more
            own.pop(url, None)
        chosen: dict[str, str] = {}  # document -> the address whose text is taken
        for url in sorted(nights, key=lambda url: (url != own.get(url, url), url)):
            chosen.setdefault(own.get(url, url), url)
        order = sorted(chosen.values(), key=lambda url: (nights[url], len(url), url))
        repeats = self._repeats([url for url in order if url in own])
        self._order = [url for url in order if url not in repeats]
        self._aliases: dict[str, list[str]] = {url: [] for url in self._order}
        for url in sorted(nights.keys() | targets.keys()):
            at = url if url in nights else end(url)
            at = chosen[own.get(at, at)] if at in nights else at
            at = repeats.get(at, at)
            if at in self._aliases:
                self._aliases[at].append(url)
        self.repeated = len(nights) - len(self._order)

    def _repeats(self, order: list[str]) -> dict[str, str]:
        prints = dict(self.collection.rows("SELECT url, fingerprint FROM pages WHERE length(text) > 0"))
        order = [url for url in order if url in prints]

        def text_of(number: int) -> str:
            return next(self.collection.rows("SELECT text FROM pages WHERE url = ?", order[number]))[0]

        found = find_duplicates([prints[url] for url in order], text_of)
        return {order[number]: order[same] for number, same in found.items()}
