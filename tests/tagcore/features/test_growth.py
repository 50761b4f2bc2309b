"""Features that grow: what is known keeps its place and weight, new words, tags and documents stand behind."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from tagcore.corpus import Corpus, documents_table, taggings_table
from tagcore.features.build import VECTORISER, make_features
from tagcore.features.corpus_reader import document_texts
from tagcore.features.growth import Growth, extend_features, inherited_rows, write_growth
from tagcore.features.ledger import Changes, stands_as_it_was, stay_on_sides, write_ledger
from tagcore.features.rows import StoredRows
from tagcore.features.split import Split, newest_cut, uniform_hashes
from tagcore.store.datasets import Dataset, StoreError
from tagcore.synthetic.corpus import demo_corpus
from tagcore.text import Vectoriser
from tagcore.text.growing import ColumnsMoved, append_terms
from tests.tagcore.features.test_build import counted_corpus

SPLIT = Split(test=0.3)
SETTINGS = {"min_df": 2, "sublinear_tf": True}


def documents() -> dict[str, tuple[str, list[str]]]:
    """Text and tags by id."""
    return dict(_planted(300))


@cache
def _planted(n: int) -> dict[str, tuple[str, list[str]]]:
    (block,) = demo_corpus(n).blocks(rows=n)
    names, texts = list(demo_corpus(n).tags), document_texts(block.documents).to_pylist()
    tags = Corpus(block.documents, block.taggings, names).tags
    return {
        name: (texts[i], [names[t] for t in tags[i].indices])
        for i, name in enumerate(block.documents["id"].to_pylist())
    }


def corpus_of(made: dict[str, tuple[str, list[str]]], folder: Path) -> Dataset:
    texts, tags = zip(*made.values(), strict=True)
    corpus = Corpus.from_texts(list(texts), list(tags))
    table = corpus.documents.set_column(0, corpus.documents.schema.field(0), pa.array(list(made)))
    replace(corpus, documents=table).save(folder, rows_per_group=64)
    return Dataset.open(folder, "corpus")


class Nights:
    """Nights in a row over corpora, each with its ledger and features, as flows make them."""

    def __init__(self, folder: Path, split: Split = SPLIT, **settings) -> None:
        self.folder, self.split, self.settings = folder, split, settings or SETTINGS
        self.number, self.base = -1, 0
        self.links, self.as_it_was = True, False
        self.ledger: Dataset | None = None
        self.features: Dataset | None = None

    def night(self, corpus: Dataset) -> Dataset:
        self.number += 1
        here = self.folder / str(self.number)
        write_ledger(corpus, here / "ledger", self.split, self.number, self.ledger)
        ledger = Dataset.open(here / "ledger", "ledger")
        if self.features is None:
            make_features(corpus, here / "features", Vectoriser(**self.settings), self.split)
        else:
            write_growth(corpus, here / "growth", self.features, ledger, self.split, self.base)
            growth = Dataset.open(here / "growth", "growth")
            assert self.ledger is not None
            self.as_it_was = stands_as_it_was(ledger, self.ledger)
            known, as_it_was = self.features, self.as_it_was and self.links
            extend_features(corpus, here / "features", known, ledger, growth, self.split, as_it_was=as_it_was)
        self.ledger, self.features = ledger, Dataset.open(here / "features", "features")
        self.base = self.base or len(self.vectoriser.idf_)
        return self.features

    @property
    def vectoriser(self) -> Vectoriser:
        assert self.features is not None
        return Vectoriser.load(self.features.folder / VECTORISER)

    @property
    def changes(self) -> Changes:
        assert self.ledger is not None
        return Changes.load(self.ledger.folder)


def rows_by_id(corpus: Dataset, features: Dataset, side: str) -> dict[str, tuple[dict[int, float], set[str]]]:
    ids, names = corpus.read("documents")["id"].to_pylist(), features.names("tags")
    return {
        ids[row["document"]]: (
            dict(zip(row["words"], row["values"], strict=True)),
            {names[t] for t in row["tags"]},
        )
        for row in features.read(side).to_pylist()
    }


def second_night() -> dict[str, tuple[str, list[str]]]:
    """40 documents more, two gone, one with another text, one with other tags, one tag and words that are new; those
    that were there stand in another order."""
    made = documents()
    ids = list(made)
    del made[ids[3]], made[ids[4]]
    made[ids[5]] = (made[ids[5]][0] + " " + made[ids[6]][0], made[ids[5]][1])
    made[ids[7]] = (made[ids[7]][0], [*made[ids[7]][1], "quite-new"])
    for number, name in enumerate(ids[260:]):
        made[name] = (f"zyzzyva zyzzyva{number} {made[name][0]}", made[name][1])
    return dict(reversed(made.items()))


@pytest.fixture(scope="module")
def two_nights(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nights")
    made, later = documents(), second_night()
    first = corpus_of(dict(list(made.items())[:260]), folder / "corpus0")
    second = corpus_of(later, folder / "corpus1")
    nights = Nights(folder)
    before = nights.night(first)
    known = nights.vectoriser
    return first, second, before, nights.night(second), known, nights


def test_the_ledger_counts_what_a_night_brought(two_nights):
    first, second, *_, nights = two_nights
    held_out = uniform_hashes(pa.array(list(documents())[260:]), 0) < 0.3
    changes = nights.changes
    assert (changes.documents, changes.new, changes.new_held_out) == (298, 40, int(held_out.sum()))
    assert (changes.changed, changes.retagged, changes.gone, changes.swapped) == (1, 1, 2, 0)
    assert changes.told() == (f"298 documents, 40 new ({held_out.sum()} held out), 1 changed, 1 retagged, 2 gone")
    table = nights.ledger.read("documents").to_pydict()
    since = dict(zip(table["id"], table["since"], strict=True))
    assert {name for name, night in since.items() if night} == set(list(documents())[260:])
    before = first.read("documents")["id"].to_pylist()
    for name, at in zip(table["id"], table["before"], strict=True):
        assert (before[at] == name) if at >= 0 else (name not in before)
    assert table["id"] == second.read("documents")["id"].to_pylist()


def test_words_and_tags_append_and_idf_is_frozen(two_nights):
    _, second, before, after, known, nights = two_nights
    grown, n = nights.vectoriser, len(known.idf_)
    assert grown.terms_[:n].tolist() == known.terms_.tolist()
    np.testing.assert_array_equal(grown.idf_[:n], known.idf_)
    np.testing.assert_array_equal(grown.df_[:n], known.df_)
    made = second_night()
    new = [name for name in list(documents())[260:] if uniform_hashes(pa.array([name]), 0)[0] >= 0.3]
    peer = CountVectorizer(binary=True)
    counts = np.asarray(peer.fit_transform([made[name][0] for name in new]).sum(axis=0)).ravel()
    df = dict(zip(peer.get_feature_names_out(), counts, strict=True))
    expected = sorted(word for word, count in df.items() if count >= 2 and word not in set(known.terms_))
    assert grown.terms_[n:].tolist() == expected
    assert "zyzzyva" in expected
    total = known.n_documents_ + len(new)
    idf = [np.log((total + 1) / (df[word] + 1)) + 1 for word in expected]
    np.testing.assert_allclose(grown.idf_[n:], idf, rtol=1e-6)
    tags = before.names("tags")
    assert after.names("tags")[: len(tags)] == tags
    assert set(after.names("tags")[len(tags) :]) == {t for _, given in made.values() for t in given} - set(tags)
    assert "quite-new" in after.names("tags")
    assert second.names("tags") != after.names("tags")


def test_rows_are_those_of_the_grown_vectoriser_and_of_tonights_tags(two_nights):
    _, second, *_, nights = two_nights
    made, after, vectoriser = second_night(), nights.features, nights.vectoriser
    for side in ("train", "test"):
        rows = rows_by_id(second, after, side)
        assert set(rows) == {
            name for name in made if (uniform_hashes(pa.array([name]), 0)[0] < 0.3) == (side == "test")
        }
        for name, (words, tags) in rows.items():
            expected = vectoriser.transform([made[name][0]])
            known = set(words) >= {w for w in expected.indices if w < nights.base}
            assert known
            if name not in list(documents())[:260] or name == list(documents())[5]:
                assert words == dict(zip(expected.indices.tolist(), expected.data.tolist(), strict=True))
            assert tags == set(made[name][1])


def test_rows_that_stood_are_first_and_bit_for_bit_the_same(two_nights):
    first, second, before, after, _, _ = two_nights
    gone = set(list(documents())[3:5])
    for side in ("train", "test"):
        old, new = rows_by_id(first, before, side), rows_by_id(second, after, side)
        stands = [name for name in old if name not in gone]
        assert list(new)[: len(stands)] == stands
        assert inherited_rows(after, side) == len(stands)
        assert inherited_rows(before, side) == 0
        for name in stands:
            if name != list(documents())[5]:
                assert new[name][0] == old[name][0]


def test_the_share_of_unknown_words(two_nights):
    *_, known, nights = two_nights
    growth, made = Growth.load(nights.folder / "1" / "growth"), second_night()
    new = [name for name in list(documents())[260:] if uniform_hashes(pa.array([name]), 0)[0] >= 0.3]
    analyse, grown, old = CountVectorizer().build_analyzer(), set(nights.vectoriser.terms_), set(known.terms_)
    words = [word for name in new for word in analyse(made[name][0]) if word in grown]
    assert growth.new_words == len(grown) - len(old)
    tags = {t for _, given in made.values() for t in given}
    assert growth.new_tags == len(tags - {t for _, given in list(documents().values())[:260] for t in given})
    assert growth.removed_tags == 0
    assert growth.occurrences == len(words)
    assert growth.unknown == sum(word not in old for word in words) > 0
    assert growth.unknown_share == growth.unknown / len(words)


def test_a_third_night_counts_from_the_first_and_keeps_all_ids(two_nights, tmp_path):
    *_, known, nights = two_nights
    made = second_night()
    made |= {f"later{i}": (f"zyzzyva quokka {made[name][0]}", ["later"]) for i, name in enumerate(list(made)[:20])}
    third = Nights(tmp_path)
    third.number, third.base = nights.number, nights.base
    third.ledger, third.features = nights.ledger, nights.features
    before, tags = nights.vectoriser.terms_.tolist(), nights.features.names("tags")
    after = third.night(corpus_of(made, tmp_path / "corpus"))
    assert third.vectoriser.terms_[: len(before)].tolist() == before
    assert after.names("tags") == [*tags, "later"]
    growth = Growth.load(tmp_path / "2" / "growth")
    assert growth.base_words == len(known.idf_)
    assert growth.new_words == 1
    assert growth.unknown >= 2 * third.changes.new - 2 * third.changes.new_held_out


def test_rows_of_a_corpus_that_only_grew_are_linked(tmp_path):
    made = list(documents().items())
    corpora = [corpus_of(dict(made[:n]), tmp_path / f"corpus{n}") for n in (150, 170, 171, 200)]
    nights = {links: Nights(tmp_path / str(links)) for links in (True, False)}
    for links, chain in nights.items():
        chain.links = links
        for corpus in corpora:
            chain.night(corpus)
            assert chain.as_it_was == (chain.number > 0)
    linked, copied = (chain.features for chain in nights.values())
    first = tmp_path / "True" / "0" / "features"
    assert (linked.folder / "train.parquet").samefile(first / "train.parquet")
    assert len(linked.files_of("train")) > 2
    assert copied.files_of("train") == ["train.parquet"]
    rng = np.random.default_rng(0)
    for side in ("train", "test"):
        assert linked.read(side).equals(copied.read(side))
        assert linked.n_row_groups(side) == len(list(linked.blocks(side)))
        one, other = (StoredRows.open(features.folder, side) for features in (linked, copied))
        assert (one.n_rows, inherited_rows(linked, side)) == (other.n_rows, inherited_rows(copied, side))
        for start, stop in np.sort(rng.integers(0, one.n_rows + 1, (20, 2)), axis=1):
            for X, Y in zip(one.load(slice(start, stop)), other.load(slice(start, stop)), strict=True):
                assert (X != Y).nnz == 0
        some = np.flatnonzero(rng.random(one.n_rows) < 0.3)
        assert (one.select(some).load(slice(0, some.size))[0] != other.load(slice(0, one.n_rows))[0][some]).nnz == 0
    part = linked.folder / linked.files_of("train")[-1]
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(StoreError, match=r"train\.\d\.parquet: .* cut off or altered"):
        Dataset.open(linked.folder, "features")


@pytest.mark.parametrize("change", ["order", "text", "tags", "counts"])
def test_a_corpus_that_is_not_as_it_was(tmp_path, change):
    made = dict(list(documents().items())[:60])
    ids = list(made)
    nights = Nights(tmp_path)
    nights.night(corpus_of(made, tmp_path / "a"))
    if change == "order":
        made = dict(reversed(made.items()))
    elif change == "text":
        made[ids[9]] = ("other words", made[ids[9]][1])
    elif change == "tags":
        made[ids[9]] = (made[ids[9]][0], ["other"])
    later = corpus_of(made, tmp_path / "b")
    if change == "counts":
        corpus = Corpus.load(tmp_path / "b")
        counts = pa.array(np.arange(len(corpus.taggings)) + 1, pa.int64())
        taggings = corpus.taggings.set_column(3, corpus.taggings.schema.field(3), counts)
        replace(corpus, taggings=taggings).save(tmp_path / "c")
        later = Dataset.open(tmp_path / "c", "corpus")
    nights.night(later)
    assert not nights.as_it_was
    assert nights.changes.retagged == (change == "tags")


def test_a_tag_that_is_gone_keeps_its_id(tmp_path):
    made = dict(list(documents().items())[:100])
    nights = Nights(tmp_path)
    tags = nights.night(corpus_of(made, tmp_path / "a")).names("tags")
    lost = tags[3]
    less = {name: (text, [t for t in given if t != lost] or [tags[0]]) for name, (text, given) in made.items()}
    assert nights.night(corpus_of(less, tmp_path / "b")).names("tags") == tags
    assert Growth.load(tmp_path / "1" / "growth").removed_tags == 1


def test_rare_tags_join_when_they_are_frequent(tmp_path):
    made = dict(list(documents().items())[:120])
    few = {name: (text, [*tags, "rare"] if i < 2 else tags) for i, (name, (text, tags)) in enumerate(made.items())}
    many = {name: (text, [*tags, "rare"] if i < 30 else tags) for i, (name, (text, tags)) in enumerate(made.items())}
    nights = Nights(tmp_path, Split(test=0.3, min_tag_df=5))
    assert "rare" not in nights.night(corpus_of(few, tmp_path / "a")).names("tags")
    corpus = corpus_of(many, tmp_path / "b")
    after = nights.night(corpus)
    assert after.names("tags")[-1] == "rare"
    assert (
        sum("rare" in tags for side in ("train", "test") for _, tags in rows_by_id(corpus, after, side).values()) == 30
    )


def test_counted_words(tmp_path):
    def part(n: int, words: int, folder: Path) -> Dataset:
        corpus = counted_corpus()
        names = [f"w{i}" for i in range(words)]
        cut = Corpus(corpus.documents[:n], corpus.taggings[:n], list("abcd"), corpus.words[:n, :words], names)
        cut.save(folder, rows_per_group=16)
        return Dataset.open(folder, "corpus")

    nights = Nights(tmp_path, Split("official"), use_idf=True)
    nights.night(part(30, 12, tmp_path / "a"))
    second = part(60, 15, tmp_path / "b")
    after = nights.night(second)
    assert nights.vectoriser.terms_.tolist() == [f"w{i}" for i in range(15)]
    expected = nights.vectoriser.transform_counts(counted_corpus().words)
    for side in ("train", "test"):
        for row in after.read(side).to_pylist():
            if row["document"] >= 30:
                assert row["values"] == expected[row["document"]].data.tolist()
    moved = [*[f"w{i}" for i in range(1, 15)], "w0"]
    with pytest.raises(ColumnsMoved, match="other columns"):
        append_terms(nights.vectoriser, [], moved)


def test_limits_of_a_vocabulary_that_grows():
    old, new = ["cat dog", "cat cow"], ["cat emu emu emu", "emu fox fox", "gnu"]
    for settings, expected in (
        ({}, ["cat", "cow", "dog", "emu", "fox", "gnu"]),
        ({"min_df": 2}, ["cat", "emu"]),
        ({"max_features": 4}, ["cat", "cow", "dog", "emu"]),
        ({"max_features": 4, "max_features_by": "df"}, ["cat", "cow", "dog", "emu"]),
        ({"hashed_columns": 4}, [f"{column}" for column in Vectoriser(hashed_columns=4).fit(old).terms_]),
        ({"vocabulary": ["cat", "emu"]}, ["cat", "emu"]),
        ({"max_df": 0.5}, ["cow", "dog", "cat", "fox", "gnu"]),
    ):
        vectoriser = Vectoriser(**settings).fit(old)
        grown, words = append_terms(vectoriser, [vectoriser.count_terms([pa.array(new)])])
        assert grown.terms_.tolist() == expected
        assert words.appended == len(expected) - len(vectoriser.idf_)
        assert sp.issparse(grown.transform(new))


def timed_corpus(times: list[int | None], folder: Path) -> Dataset:
    n = len(times)
    when = pa.array(times, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    corpus = Corpus(
        documents_table(id=[f"d{i}" for i in range(n)], text=["some words"] * n),
        taggings_table(np.arange(n), np.arange(n) % 2, time=when.to_pylist()),
        ["even", "odd"],
    )
    corpus.save(folder, rows_per_group=16)
    return Dataset.open(folder, "corpus")


def held_out_ids(corpus: Dataset, split: Split, folder: Path) -> set[str]:
    write_ledger(corpus, folder, split, 0)
    table = Dataset.open(folder, "ledger").read("documents").to_pydict()
    return {name for name, held in zip(table["id"], table["held_out"], strict=True) if held}


def test_the_newest_share_is_held_out_and_stays_so(tmp_path):
    first = timed_corpus(list(range(100)), tmp_path / "first")
    after, until = newest_cut(np.arange(100), 0.2)
    assert (after, until) == (79, 99)
    split = Split("newest", 0.2, after=after, until=until)
    fixed = held_out_ids(first, split, tmp_path / "ledger")
    assert fixed == {f"d{i}" for i in range(80, 100)}
    # tomorrow d5 and d95 are found to be of another time, and there are later documents, two of them without a time
    times = [*range(100), *range(100, 298), None, None]
    times[5], times[95] = 90, 10
    second = timed_corpus(times, tmp_path / "second")
    assert held_out_ids(second, split, tmp_path / "other") & {"d5", "d95"} == {"d5"}
    stays = stay_on_sides(second, split, Dataset.open(tmp_path / "ledger", "ledger"))
    assert stays.exceptions == ("d5", "d95")
    held = held_out_ids(second, stays, tmp_path / "later")
    later = {f"d{i}" for i in range(100, 300)}
    assert held - later == fixed
    drawn = uniform_hashes(pa.array([f"d{i}" for i in range(100, 300)]), 0) < 0.2
    assert len(held & later) == drawn.sum()


def test_a_document_comes_the_night_it_is_tagged(tmp_path):
    made = dict(list(documents().items())[:60])
    late = list(made)[7]
    nights = Nights(tmp_path)
    nights.night(corpus_of(made | {late: (made[late][0], [])}, tmp_path / "a"))
    nights.night(corpus_of(made, tmp_path / "b"))
    table = nights.ledger.read("documents").to_pydict()
    assert {name for name, since in zip(table["id"], table["since"], strict=True) if since} == {late}
    assert (nights.changes.new, nights.changes.retagged, nights.as_it_was) == (1, 0, False)


def test_equal_times_tell_nothing_of_the_newest():
    assert newest_cut(np.zeros(50, np.int64), 0.2) is None
    assert newest_cut(np.array([1]), 0.2) is None
    assert newest_cut(np.repeat([1, 2, 3], 10), 1 / 3) == (2, 3)


def test_a_split_of_newest_documents_needs_its_times():
    with pytest.raises(ValueError, match="expected one time and a later one"):
        Split("newest")
    with pytest.raises(ValueError, match="expected a share"):
        Split("newest", 100, after=1, until=2)
