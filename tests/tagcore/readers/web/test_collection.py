"""What a crawl has gathered, on disk."""

import sqlite3
from contextlib import closing

import pytest

from tagcore.readers.web.collection import VERSION, Address, Collection


def test_a_crawl_of_an_earlier_version_goes_on_with_its_pictures(tmp_path):
    path = tmp_path / "collection.db"
    with closing(Collection(path)) as made:
        made.add("http://a.org/cat.png", "page")
        made.refuse(Address("http://a.org/cat.png", "page"), "not text")
        made.commit()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DROP TABLE pictures")
        db.execute("PRAGMA user_version = 1")
    for _ in range(2):
        with closing(Collection(path)) as collection:
            assert list(collection.rows("SELECT * FROM pictures")) == [("http://a.org/cat.png", None)]


def test_a_crawl_of_a_later_version_is_told(tmp_path):
    path = tmp_path / "collection.db"
    Collection(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(ValueError, match=f"of version {VERSION + 1}, expected at most {VERSION}"):
        Collection(path)
