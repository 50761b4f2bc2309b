"""A whole crawl of the demonstration site: broken pages, kills, a second night, and a replay."""

import os
import signal
import subprocess
import sys
from collections import Counter

import pytest

from tagcore.readers import open_source
from tagcore.readers.web.collection import Collection
from tagcore.readers.web.gathered import GatheredDocuments
from tasks.crawl.crawl_run import STATE, crawl, is_url_list, read_url_list
from tasks.demo_site.server import served
from tasks.demo_site.site import CHANGED, GOOD_FAULTS, NEW, VANISHED, DemoSite
from tests.tasks.crawl.child import FAST

NOTES = 200


def documents_in(folder):
    """What was gathered: id -> everything but the time."""
    collection = Collection(folder / STATE)
    gathered = GatheredDocuments(collection)
    (block,) = gathered.blocks()
    tags = list(gathered.tags)
    found = {row["id"]: {**row, "fetched_at": None, "tags": set()} for row in block.documents.to_pylist()}
    ids = block.documents["id"].to_pylist()
    assert len(found) == len(ids)
    for tagging in block.taggings.to_pylist():
        found[ids[tagging["document"]]]["tags"].add((tagging["user"], tags[tagging["tag"]], tagging["count"]))
    collection.close()
    return found


@pytest.fixture(scope="module")
def broken_site(tmp_path_factory):
    """A site with everything that can go wrong, crawled in one go."""
    folder = tmp_path_factory.mktemp("crawl")
    site = DemoSite(NOTES, faults=True)
    with served(site) as address:
        counts = crawl(folder, [address + "/"], FAST, local=True)
        yield site, address, folder, counts


def test_all_good_pages_are_stored_once_and_the_bad_ones_counted(broken_site):
    site, address, folder, counts = broken_site
    found = documents_in(folder)
    assert set(found) == {f"{address}{note.path}" for note in site.notes.values()} | {
        address + path for path in GOOD_FAULTS
    }
    for note in site.notes.values():
        document = found[f"{address}{note.path}"]
        assert document["title"] == note.title
        assert {(user, tag) for user, tag, _ in document["tags"]} == set(note.taggings)
        assert " ".join(note.text.split()) in " ".join(document["text"].split())
    assert "Crème brûlée" in found[address + "/fault/letters"]["title"]
    assert counts.refused == {
        "a list and no page": 1,
        "connection failed": 1,
        "damaged body": 1,
        "not readable": 1,
        "not text": 1,
        "not to be stored": 1,
        "private address": 2,
        "redirect to no address": 1,
        "redirects in a circle": 1,
        "robots.txt": 1,
        "status 404": 1,
        "status 500": 1,
        "too large": 3,
        "took too long": 2,
    }
    assert "/private/diary" not in site.failures
    assert counts.retried >= sum(number % 40 in (9, 19, 29) for number in site.notes)  # which answer when asked again


def test_a_crawl_that_is_killed_three_times_ends_with_the_same(broken_site, tmp_path):
    _, address, folder, _ = broken_site
    command = [sys.executable, "-m", "tests.tasks.crawl.child", str(tmp_path), address + "/"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for _ in range(3):
            child.stdin.write("go\n")
            pid = int(child.stdout.readline())
            assert int(child.stdout.readline()) > 0  # something has been committed
            os.kill(pid, signal.SIGKILL)
            while child.stdout.readline() != "ended\n":
                continue
        child.stdin.write("go\n")
        child.stdin.close()
        assert child.stdout.read().endswith("ended\n")
    assert documents_in(tmp_path) == documents_in(folder)
    assert replayed(tmp_path) == set(documents_in(folder))  # no answer twice in the archive, none lost


def replayed(folder):
    source = open_source(folder / "night-00001.warc.gz")
    return {id_ for block in source.blocks() for id_ in block.documents["id"].to_pylist()}


def test_an_archive_gives_the_same_documents_without_the_network(broken_site):
    _, _, folder, _ = broken_site
    source = open_source(folder / "night-00001.warc.gz")
    assert source.format == "warc"
    (block,) = source.blocks()
    found = documents_in(folder)
    for row in block.documents.to_pylist():
        assert {**row, "fetched_at": None} == {k: v for k, v in found[row["id"]].items() if k != "tags"}
    assert block.documents.num_rows == len(found)
    assert block.taggings.num_rows == sum(len(document["tags"]) for document in found.values())


def test_the_next_night_brings_what_is_new_changed_or_gone(tmp_path):
    notes, statuses = 10 * NEW, Counter()

    class CountedSite(DemoSite):
        def answer(self, target, headers):
            answer = super().answer(target, headers)
            statuses[answer.status] += 1
            return answer

    with served(DemoSite(notes)) as address:
        crawl(tmp_path, [address + "/"], FAST, local=True)
    before = documents_in(tmp_path)
    with served(CountedSite(notes, night=2), port=int(address.rpartition(":")[2])) as again:
        assert again == address
        counts = crawl(tmp_path, [address + "/"], FAST, local=True)
        assert statuses[304] == counts.same
        third = crawl(tmp_path, [address + "/"], FAST, local=True)
    after = documents_in(tmp_path)
    assert (counts.new, counts.changed, counts.vanished) == (NEW, CHANGED, VANISHED)
    assert counts.same == notes - CHANGED - VANISHED + 1  # and the one to print
    assert set(after) - set(before) == {f"{address}/notes/{notes + i}" for i in range(NEW)}
    assert set(before) <= set(after)  # what is gone is marked, not deleted
    gone = [id_ for id_, document in after.items() if document["vanished_at"] is not None]
    assert len(gone) == VANISHED
    assert all(after[id_] | {"vanished_at": None} == before[id_] for id_ in gone)
    assert sum(after[id_] != document for id_, document in before.items() if id_ not in gone) == CHANGED
    assert list(after)[: len(before)] == list(before)  # earlier documents keep their places
    assert (third.new, third.changed, third.vanished) == (0, 0, 0)


def test_a_list_of_addresses_is_one_a_line(tmp_path):
    path = tmp_path / "pages.txt"
    path.write_text("# mine\nhttp://example.org/a#x\n\nhttps://example.org/b\n")
    assert is_url_list(path)
    assert read_url_list(path) == ["http://example.org/a", "https://example.org/b"]
    path.write_bytes(b"\xef\xbb\xbfhttp://example.org/a\r\n")  # as editors of Windows write it
    assert is_url_list(path)
    assert read_url_list(path) == ["http://example.org/a"]
    path.write_text("http://example.org/a\nnot one\n")
    with pytest.raises(ValueError, match="line 2"):
        read_url_list(path)
    path.write_text("Once upon a time")
    assert not is_url_list(path)
