"""Who tagged what, kept on disk while the documents are read: dumps list the two apart and in any order."""

import sqlite3
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

_AT_ONCE = 50_000


class TaggingIndex:
    """Taggings by document, in a temporary file, so that memory does not grow with them."""

    def __enter__(self) -> "TaggingIndex":
        self._folder = tempfile.TemporaryDirectory()
        self._db = sqlite3.connect(Path(self._folder.name) / "taggings.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("CREATE TABLE taggings (document TEXT, user TEXT, tag TEXT, time TEXT)")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._db.close()
        self._folder.cleanup()

    def fill(self, taggings: Iterable[tuple[str, str, str, str | None]]) -> None:
        """Takes (document, user, tag, time) of all taggings; after it they can be asked for."""
        waiting: list[tuple] = []
        self._db.execute("BEGIN")
        for tagging in taggings:
            waiting.append(tagging)
            if len(waiting) == _AT_ONCE:
                self._db.executemany("INSERT INTO taggings VALUES (?, ?, ?, ?)", waiting)
                waiting.clear()
        self._db.executemany("INSERT INTO taggings VALUES (?, ?, ?, ?)", waiting)
        self._db.execute("COMMIT")
        self._db.execute("CREATE INDEX by_document ON taggings (document)")

    def of(self, document: str) -> list[dict[str, Any]]:
        """Lists the taggings of one document as records have them, each once."""
        rows = self._db.execute(
            "SELECT user, tag, min(time) FROM taggings WHERE document = ? GROUP BY user, tag ORDER BY min(rowid)",
            (document,),
        )
        return [{"user": user, "tag": tag, "time": time} for user, tag, time in rows]
