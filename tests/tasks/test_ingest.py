"""From sources of every kind to one stored corpus."""

import json

import pytest

from tagcore.corpus import Corpus
from tasks.data_settings import CrawlSettings, DataSettings
from tasks.demo_site.server import served
from tasks.demo_site.site import DemoSite
from tasks.ingest import ingest
from tasks.recipe import RecipeError, parse_recipe
from tests.workspaces import workspace_at

FAST = CrawlSettings(back_off=0.01, per_host=8)


def corpus_of(data, workspace):
    folder = ingest.fn(data, workspace).result()
    corpus = Corpus.load(folder)
    tags = {id_: set() for id_ in corpus.documents["id"].to_pylist()}
    ids = corpus.documents["id"].to_pylist()
    for tagging in corpus.taggings.to_pylist():
        tags[ids[tagging["document"]]].add((tagging["user"], corpus.tag_names[tagging["tag"]]))
    return folder, corpus, tags


def test_several_sources_give_one_document_for_one_address(tmp_path):
    workspace = workspace_at(tmp_path / "state")
    site = DemoSite(12)
    with served(site) as address:
        first, second = (f"{address}/notes/{n}" for n in (0, 1))
        (tmp_path / "pages.txt").write_text(f"{first}\n{second}?utm_source=list\n")
        bookmarks = [
            {
                "id": "mine-1",
                "url": first.upper().replace("/NOTES", "/notes"),
                "tags": [{"tag": "to-read", "user": "zoe"}],
            },
            {"id": "mine-2", "url": "http://127.0.0.1:1/", "title": "Elsewhere", "tags": ["to-read"]},
        ]
        export = tmp_path / "bookmarks.jsonl"
        export.write_text("\n".join(map(json.dumps, bookmarks)))
        data = DataSettings(source=(str(tmp_path / "pages.txt"), str(export)), local=True, crawl=FAST)
        folder, corpus, tags = corpus_of(data, workspace)
        assert list(tags) == [first, second, "mine-2"]
        assert tags[first] == {*site.notes[0].taggings, ("zoe", "to-read")}
        assert tags["mine-2"] == {(None, "to-read")}
        assert corpus.documents["text"][0].as_py()
        again, *_ = corpus_of(data, workspace)
        assert again == folder  # nothing has changed, so that nothing after this is made again
        fetched, _, of_export = corpus_of(
            DataSettings(source=str(export), fetch=True, local=True, crawl=FAST), workspace
        )
    assert fetched != folder
    assert of_export[first] == {*site.notes[0].taggings, ("zoe", "to-read")}
    assert "mine-2" not in of_export  # whose page is not to be had


def test_the_demonstration_site_gives_its_notes_under_names_that_stay(tmp_path):
    data = DataSettings(source="demo-site", documents=30)
    _, corpus, tags = corpus_of(data, workspace_at(tmp_path))
    site = DemoSite(30)
    assert tags == {f"http://margin-notes.example{note.path}": set(note.taggings) for note in site.notes.values()}
    assert corpus.documents["language"].to_pylist() == ["en"] * 30
    assert not list((tmp_path / "crawls").glob("demo/*"))
    assert ingest.fn(data, workspace_at(tmp_path)).name == "Cached"


@pytest.mark.parametrize(
    "source", ["https://ann:secret@example.org/feed", ["a.jsonl", "http://ann:secret@example.org"]]
)
def test_a_password_in_an_address_is_refused_and_not_repeated(source):
    with pytest.raises(RecipeError, match="see `logins`") as error:
        parse_recipe({"data": {"source": source}, "models": [{"model": "KNN"}]}, "night.toml")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("source", ["ftp://example.org/a", "file:///etc/passwd", ["a.jsonl", "gopher://example.org"]])
def test_addresses_of_other_kinds_are_refused(source):
    with pytest.raises(RecipeError, match="expected http:// or https://"):
        parse_recipe({"data": {"source": source}, "models": [{"model": "KNN"}]}, "night.toml")


def test_bad_rows_of_several_files_are_listed_apart(tmp_path):
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    for path, more in zip(paths, ("", "no json\n", '{"text": 3}\n[]\n'), strict=True):
        path.write_text(json.dumps({"id": path.name, "text": "x", "tags": ["y"]}) + "\n" + more)
    data = DataSettings(source=tuple(map(str, paths)), skip_bad_rows=True)
    folder, _, tags = corpus_of(data, workspace_at(tmp_path / "state"))
    assert list(tags) == [path.name for path in paths]
    listed = [(folder / f"rejected-{n}.jsonl").read_text().splitlines() for n in (1, 2, 3)]
    assert [len(lines) for lines in listed] == [0, 1, 2]


def test_spellings_of_a_tag_are_merged_and_listed(tmp_path):
    notes = tmp_path / "notes.jsonl"
    tags = (["Recipe", "spam"], ["recipes"], ["recipes", "soup"])
    notes.write_text("\n".join(json.dumps({"id": str(i), "text": "x", "tags": given}) for i, given in enumerate(tags)))
    workspace = workspace_at(tmp_path / "state")
    chosen = {"merge": "all", "exclude": ["Spam"]}
    folder, corpus, _ = corpus_of(DataSettings(source=str(notes), tags=chosen), workspace)
    assert corpus.tag_names == ["recipes", "soup"]
    listed = json.loads((folder / "tags.json").read_text())
    assert listed == {"merged": {"recipes": {"recipes": 2, "Recipe": 1}}, "left_out": ["spam"]}
    other, corpus, _ = corpus_of(DataSettings(source=str(notes)), workspace)
    assert other != folder
    assert len(corpus.tag_names) == 4


@pytest.mark.parametrize(
    ("address", "local", "why"),
    [
        ("http://127.0.0.1:1/", False, r"1 refused \(private address 1\); .* opened by --allow-local"),
        ("http://127.0.0.1:1/", True, r"robots.txt not to be had: connection failed 1\)$"),
    ],
)
def test_a_crawl_that_brings_nothing_tells_why_and_what_to_do(tmp_path, address, local, why):
    data = DataSettings(source=address, local=local, crawl=FAST)
    with pytest.raises(ValueError, match="no documents: .*" + why):
        ingest.fn(data, workspace_at(tmp_path))
