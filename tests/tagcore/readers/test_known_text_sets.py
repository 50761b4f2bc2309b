"""Reuters-21578, RCV1-v2 and CiteULike: the counts that their READMEs state, and other ways to read them."""

import gzip
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from tagcore.corpus import tag_matrix
from tagcore.readers import open_source
from tagcore.readers.citeulike import read_libraries
from tagcore.readers.qrels import read_qrels
from tagcore.readers.rcv1.taxonomy import read_taxonomy
from tests.tagcore.readers.helpers import read

pytestmark = pytest.mark.data


def plain_stories(folder: Path) -> list[tuple[dict[str, str], list[str], str]]:
    """attributes, topics and body of every story by one regular expression."""
    out = []
    for path in sorted(folder.glob("*.sgm.gz")):
        with gzip.open(path, "rt", encoding="latin-1") as file:
            for tag, content in re.findall(r"<REUTERS([^>]*)>(.*?)</REUTERS>", file.read(), re.S):
                topics = re.search("<TOPICS>(.*?)</TOPICS>", content)
                body = re.search("<BODY>(.*?)</BODY>", content, re.S)
                attributes = dict(re.findall(r'(\w+)="([^"]*)"', tag))
                out.append((attributes, re.findall("<D>(.*?)</D>", topics[1]), body[1] if body else ""))
    return out


def test_reuters_in_the_modapte_split(shared_data: Path) -> None:
    got = read(shared_data / "reuters21578")  # raises unless the counts are those of the card
    tags = got.tags
    stories = [s for s in plain_stories(shared_data / "reuters21578") if s[0]["TOPICS"] == "YES"]
    for part, count in (("train", 9603), ("test", 3299)):
        theirs = [s for s in stories if s[0]["LEWISSPLIT"] == part.upper()]
        rows = [i for i, d in enumerate(got.documents) if d["split"] == part]
        assert len(rows) == len(theirs) == count
        assert [got.documents[i]["id"] for i in rows] == [s[0]["NEWID"] for s in theirs]
        assert [tags[i] for i in rows] == [list(dict.fromkeys(s[1])) for s in theirs]
        for i, (_, _, body) in zip(rows, theirs, strict=True):
            words = re.sub(r"&#\d+;", " ", body).replace("&lt;", "<").replace("&amp;", "&").split()
            assert (got.documents[i]["text"] or "").split()[-len(words) or 10**6 :] == words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "train", "test", "tags"),
    [
        ({"unused": "keep"}, 9603, 3299, 120),
        ({"unused": "keep", "field": "places"}, 9603, 3299, 147),
        ({"unused": "keep", "field": "people"}, 9603, 3299, 114),
        ({"unused": "keep", "field": "orgs"}, 9603, 3299, 32),
        ({"unused": "keep", "field": "exchanges"}, 9603, 3299, 32),
        ({"split": "modlewis"}, 13625, 6188, 118),
        ({"split": "modhayes"}, 20856, 722, 120),
        ({"subset": "tagged"}, 7775, 3019, 118),
        ({"subset": "shared"}, 7770, 3019, 90),
    ],
)
def test_reuters_otherwise(shared_data: Path, options: dict[str, str], train: int, test: int, tags: int) -> None:
    source = open_source(shared_data / "reuters21578", **options)
    for _ in source.blocks():
        pass
    assert (source.counts.train, source.counts.test, len(source.tags)) == (train, test, tags)
    assert source.counts.documents == (21578 if "unused" in options else train + test)


def test_rcv1_topics_against_arrow(shared_data: Path) -> None:
    path = shared_data / "rcv1" / "rcv1-v2.topics.qrels.gz"
    source = open_source(f"{shared_data / 'rcv1'}:rcv1-topics")
    documents, topics, names = read_qrels(path)
    first = 0
    for block in source.blocks(100_000):
        n = block.documents.num_rows
        assert block.documents["id"].cast(pa.int64()).to_numpy().tolist() == documents[first : first + n].tolist()
        assert abs(tag_matrix(block.taggings, n, len(names)) - topics[first : first + n]).nnz == 0
        first += n
    assert (first, list(source.tags)) == (804_414, names)
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(column_names=["topic", "document", "one"]),
        parse_options=csv.ParseOptions(delimiter=" "),
    )
    coo = topics.tocoo()
    theirs = {name: i for i, name in enumerate(names)}
    columns = table["topic"].combine_chunks().dictionary_encode()
    theirs_tags = np.array([theirs[name] for name in columns.dictionary.to_pylist()])[columns.indices.to_numpy()]
    mine, given = (documents[coo.row], coo.col), (table["document"].to_numpy(), theirs_tags)
    np.testing.assert_array_equal(*(np.sort(d * len(names) + t) for d, t in (mine, given)))
    assert int((documents <= 26150).sum()) == 23_149


def test_every_topic_of_rcv1_comes_with_those_above_it(shared_data: Path) -> None:
    _, topics, names = read_qrels(shared_data / "rcv1" / "rcv1-v2.topics.qrels.gz")
    nodes, parents = read_taxonomy(shared_data / "rcv1" / "rcv1.taxonomy")
    assert nodes[0] == "Root"
    assert set(nodes) - set(names) == {"Root"}
    columns = topics.tocsc()
    for name, parent in zip(nodes, parents, strict=True):
        if parent > 0:
            below, above = columns[:, [names.index(name)]], columns[:, [names.index(nodes[parent])]]
            assert below.multiply(above).nnz == below.nnz


def test_citeulike_t(shared_data: Path) -> None:
    folder = shared_data / "citeulike-t"
    source = open_source(folder)
    blocks = list(source.blocks(10_000))
    bags = [line.split()[1:] for line in (folder / "mult.dat").read_text().splitlines()]
    row = 0
    for block in blocks:
        for words in block.words:
            pairs = [f"{w}:{n:.0f}" for w, n in zip(words.indices, words.data, strict=True)]
            assert sorted(pairs) == sorted(bags[row])
            row += 1
    assert row == len(bags) == 25_975
    names = (folder / "tags.dat").read_text().splitlines()
    assert list(source.tags) == names
    links = set()
    for tag, line in enumerate((folder / "tag-item.dat").read_text().splitlines()):
        links |= {(int(paper), tag) for paper in line.split()[1:]}
    found, first = set(), 0
    for block in blocks:
        numbers = block.taggings["document"].to_numpy() + first
        found |= set(zip(numbers.tolist(), block.taggings["tag"].to_pylist(), strict=True))
        first += block.documents.num_rows
    assert found == links
    assert len(links) == 290_830  # 343,776 where the number at the head of every line is counted with them


def test_citeulike_libraries(shared_data: Path) -> None:
    kept = read_libraries(shared_data / "citeulike-t")
    assert (len(kept), kept.matrix.shape) == (134_860, (7947, 25_975))
