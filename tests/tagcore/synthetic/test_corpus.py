"""Planted corpora: the same document however it is cut, and the structure that was planted is really there."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from tagcore.corpus import Corpus, append_block, append_names, tag_matrix
from tagcore.store.datasets import write_dataset
from tagcore.store.schemas import DOCUMENTS, TAGGINGS
from tagcore.synthetic.corpus import GENERATOR, PlantedCorpus, demo_corpus
from tagcore.synthetic.kernels.corpus import SEASON, STRAY
from tests.tagcore.synthetic.helpers import whole


def small(n=600, **changes):
    facts = {
        "n_topics": 5,
        "n_words": 300,
        "n_tags": 20,
        "words_per_document": 12,
        "tags_per_document": 2.5,
        "n_users": 40,
        "seed": 3,
    }
    return PlantedCorpus(n, **{**facts, "n_users": 40, "seed": 3, **changes})


def digest(corpus):
    documents, taggings = whole(corpus)
    columns = [*documents.drop_columns("vanished_at").columns, *taggings.columns]  # none of made-up pages vanished
    plain = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in columns]
    return hashlib.sha256(json.dumps([c.to_pylist() for c in plain]).encode()).hexdigest()


def counted_words(corpus):
    documents, _ = whole(corpus)
    counter = CountVectorizer(vocabulary=corpus.truth.word_names)
    return counter.fit_transform(documents["text"].to_pylist())


def per_topic(rows, topics, n_topics):
    """rows summed per topic and brought to shares."""
    member = sp.csr_matrix((np.ones(topics.size), (topics, np.arange(topics.size))), shape=(n_topics, topics.size))
    sums = (member @ rows).toarray()
    return sums / sums.sum(axis=1, keepdims=True)


def distance(p, q):
    """total variation."""
    return 0.5 * np.abs(np.asarray(p) - np.asarray(q)).sum(axis=-1)


@given(rows=st.integers(1, 80), n=st.integers(0, 70), n_users=st.sampled_from([0, 1, 3, 40]))
@settings(max_examples=25, deadline=None)
def test_blocks_and_size_do_not_change_a_document(rows, n, n_users):
    documents, taggings = whole(small(70, n_users=n_users))
    if n == 0:
        assert list(small(0, n_users=n_users).blocks(rows)) == []
        return
    cut_documents, cut_taggings = whole(small(n, n_users=n_users), rows)
    assert cut_documents.combine_chunks() == documents.slice(0, n).combine_chunks()
    kept = taggings.filter(pa.compute.less(taggings["document"], n))
    assert cut_taggings.combine_chunks() == kept.combine_chunks()


def test_every_process_draws_the_same():
    drawn_elsewhere = {2: "6646c35220d9eef6"}
    assert digest(small(50))[:16] == drawn_elsewhere[GENERATOR], "same parameters, other documents: raise GENERATOR"


def test_seeds_differ():
    assert digest(small(20)) != digest(small(20, seed=4))


def test_tables_are_of_the_schema_and_valid():
    for corpus in (small(), small(n_users=0), demo_corpus(50)):
        for block in corpus.blocks(100):
            assert block.documents.schema == DOCUMENTS
            assert block.taggings.schema == TAGGINGS
            assert block.words is None
            block.documents.validate(full=True)
            block.taggings.validate(full=True)


def test_text_is_the_drawn_words_in_sentences():
    documents, _ = whole(small())
    vocabulary = set(small().truth.word_names)
    lengths = []
    for title, text in zip(documents["title"].to_pylist(), documents["text"].to_pylist(), strict=True):
        words = text.replace(".", "").lower().split(" ")
        assert set(words) <= vocabulary
        lengths.append(len(words))
        assert text.endswith(".")
        assert all(s[0].isupper() and s[1:].islower() for s in text[:-1].split(". "))
        assert title[0].isupper()
        assert set(title.lower().split(" ")) <= vocabulary
    assert 6 <= min(lengths) < max(lengths) <= 19
    assert np.mean(lengths) == pytest.approx(12, rel=0.05)


def test_ids_are_distinct_and_times_increase():
    documents, taggings = whole(small())
    assert len(set(documents["id"].to_pylist())) == 600
    times = documents["fetched_at"].cast(pa.int64()).to_numpy()
    assert np.all(np.diff(times) > 0)
    given_at = taggings["time"].cast(pa.int64()).to_numpy()
    assert np.all(np.diff(given_at) >= 0)
    assert np.all(given_at >= times[taggings["document"].to_numpy()])


def test_several_users_agree_on_a_tag():
    corpus = small()
    _, taggings = whole(corpus)
    rows = list(zip(*(taggings[c].to_pylist() for c in ("document", "tag", "user")), strict=True))
    assert len(set(rows)) == len(rows)
    assert set(taggings["count"].to_pylist()) == {1}
    matrix = tag_matrix(taggings, 600, 20)
    assert matrix.data.max() > 2
    assert np.diff(matrix.indptr).min() >= 1
    assert np.mean(np.diff(matrix.indptr)) == pytest.approx(2.5, rel=0.1)


def test_nameless_users_are_counted():
    _, taggings = whole(small(n_users=0))
    assert taggings["user"].null_count == taggings.num_rows
    counts = taggings["count"].to_numpy()
    assert counts.min() == 1
    assert counts.max() > 2
    pairs = list(zip(taggings["document"].to_pylist(), taggings["tag"].to_pylist(), strict=True))
    assert len(set(pairs)) == len(pairs)


def test_users_have_a_favourite_topic():
    corpus = small(2000)
    _, taggings = whole(corpus)
    topics = corpus.topics(0, 2000)[taggings["document"].to_numpy()]
    users = np.array([int(u.removeprefix("user")) for u in taggings["user"].to_pylist()])
    assert 0 <= users.min() < users.max() < 40
    assert np.mean(users % 5 == topics) > 0.6


def test_words_and_tags_of_a_topic_follow_what_was_planted():
    corpus = small(8000, mixing=0, noise=0.3)
    truth, topics = corpus.truth, corpus.topics(0, 8000)
    words = per_topic(counted_words(corpus), topics, 5)
    expected = 0.7 * truth.topic_words.toarray() + 0.3 * truth.any_word
    assert distance(words, expected).max() < 0.06
    assert distance(words, np.roll(expected, 1, axis=0)).min() > 0.3

    one_tag = small(8000, mixing=0, noise=0.3, tags_per_document=1, n_users=0)
    _, taggings = whole(one_tag)
    tags = per_topic(tag_matrix(taggings, 8000, 20) > 0, topics, 5)
    stray = 0.3 * STRAY
    expected = (1 - stray) * one_tag.truth.topic_tags.toarray() + stray * one_tag.truth.any_tag
    assert distance(tags, expected).max() < 0.06


def test_truth_is_made_of_distributions():
    for corpus in (small(), demo_corpus()):
        truth = corpus.truth
        assert truth.topic_shares.sum() == pytest.approx(1)
        for rows in (truth.topic_words, truth.topic_tags):
            assert rows.data.min() > 0
            np.testing.assert_allclose(np.asarray(rows.sum(axis=1)).ravel(), 1)
        assert truth.any_word.sum() == pytest.approx(1)
        assert truth.any_word.min() > 0
        assert truth.any_tag.min() > 0
        assert truth.topic_tags.shape == (len(truth.topic_names), len(corpus.tags))


def test_polysemous_words_appear_in_their_topics():
    corpus = small(6000, polysemy=0.3, noise=0, mixing=0)
    truth = corpus.truth
    topical = truth.topic_words.getnnz(axis=0) > 0
    assert truth.polysemous.size == round(0.3 * topical.sum())
    drawn = per_topic(counted_words(corpus), corpus.topics(0, 6000), 5) > 0
    planted = truth.topic_words.toarray() > 0
    assert not np.any(drawn & ~planted)
    assert np.all(planted[:, truth.polysemous].sum(axis=0) == 2)
    assert np.mean(drawn[:, truth.polysemous].sum(axis=0) == 2) > 0.9


def test_popularity_drifts_over_the_year():
    corpus = PlantedCorpus(SEASON + 1, n_topics=4, n_words=80, n_tags=8)
    topics = corpus.topics(0, SEASON)
    seasons = np.array([np.bincount(part, minlength=4) / part.size for part in np.array_split(topics, 4)])
    assert np.ptp(seasons, axis=0).min() > 0.05
    np.testing.assert_allclose(seasons.mean(axis=0), corpus.truth.topic_shares, atol=0.03)


def test_topics_can_be_asked_for_any_part():
    corpus = small()
    np.testing.assert_array_equal(corpus.topics(0, 600)[100:130], corpus.topics(100, 30))
    with pytest.raises(ValueError, match="n = 30, expected a whole number from 0 to 10"):
        corpus.topics(590, 30)


def test_goes_into_the_store_as_any_source(tmp_path):
    corpus = small()
    with write_dataset(tmp_path / "corpus", "corpus", inputs={"source": corpus.fingerprint()}) as writer:
        for block in corpus.blocks(128):
            append_block(writer, block)
        append_names(writer, corpus.tags, corpus.words)
    stored = Corpus.load(tmp_path / "corpus")
    documents, taggings = whole(corpus)
    assert stored.documents.equals(documents)
    assert stored.tag_names == list(corpus.tags)
    assert (stored.tags != tag_matrix(taggings, 600, 20)).nnz == 0


@pytest.mark.parametrize("rows", [7, 600])
def test_counted_words_are_those_of_the_text(rows):
    blocks = list(small(counted=True).blocks(rows))
    assert all(b.documents["text"].null_count == b.documents["title"].null_count == len(b.documents) for b in blocks)
    counted = sp.vstack([b.words for b in blocks]).tocsr()
    assert counted.has_canonical_format
    assert counted.dtype == np.float32
    assert (counted != counted_words(small())).nnz == 0
    assert list(small(counted=True).words) == small().truth.word_names
    taggings = whole(small(counted=True), rows)[1]
    assert taggings.combine_chunks() == whole(small())[1].combine_chunks()


def test_fingerprint_names_the_content():
    assert small().fingerprint() == small().fingerprint()
    others = [
        small(601),
        small(seed=4),
        small(noise=0.25),
        small(mixing=0.5),
        small(n_users=41),
        small(words_per_document=13),
        small(tags_per_document=3),
        small(polysemy=0.2),
        small(n_words=301),
        small(n_tags=21),
        small(n_topics=6),
        small(counted=True),
        demo_corpus(600),
    ]
    prints = [small().fingerprint(), *(c.fingerprint() for c in others)]
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": -1}, "n_documents = -1, expected a whole number from 0"),
        ({"n": 2.5}, "n_documents = 2.5, expected a whole number"),
        ({"n": True}, "n_documents = True"),
        ({"n_topics": 0}, "n_topics = 0, expected a whole number from 1"),
        ({"n_topics": 21}, "n_tags = 20, expected a whole number from 21"),
        ({"n_words": 19}, "n_words = 19, expected a whole number from 20"),
        ({"n_words": 20, "n_tags": 20}, "leaves 19 topical words, expected one per tag: 20"),
        ({"words_per_document": 0}, "words_per_document = 0"),
        ({"tags_per_document": 0.5}, "tags_per_document = 0.5"),
        ({"polysemy": 1.1}, "polysemy = 1.1, expected a number from 0 to 1"),
        ({"polysemy": 0.5, "n_topics": 1}, "polysemy = 0.5, expected 0 where there is one topic only"),
        ({"noise": float("nan")}, "noise = nan, expected a number from 0 to 1"),
        ({"mixing": -0.1}, "mixing = -0.1"),
        ({"n_users": -1}, "n_users = -1"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": "a"}, "seed = 'a'"),
    ],
)
def test_odd_parameters_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_a_block_has_at_least_one_row():
    with pytest.raises(ValueError, match="rows = 0"):
        next(small().blocks(0))


@given(
    n_topics=st.integers(1, 6),
    tags=st.integers(0, 12),
    words=st.integers(0, 40),
    per_document=st.floats(1, 30),
    tags_per_document=st.floats(1, 9),
    shares=st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 3),
    n_users=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_small_worlds_are_sound(n_topics, tags, words, per_document, tags_per_document, shares, n_users):
    polysemy, noise, mixing = shares
    n_tags = n_topics + tags
    n_words = n_tags + n_tags // 10 + 1 + words
    corpus = PlantedCorpus(
        30,
        n_topics=n_topics,
        n_words=n_words,
        n_tags=n_tags,
        words_per_document=per_document,
        tags_per_document=tags_per_document,
        polysemy=polysemy if n_topics > 1 else 0,
        noise=noise,
        mixing=mixing,
        n_users=n_users,
    )
    assert len(set(corpus.truth.word_names)) == n_words
    assert len(corpus.tags) == n_tags
    documents, taggings = whole(corpus)
    assert set(taggings["document"].to_pylist()) == set(range(30))
    assert all(documents["text"].to_pylist())
    tag = taggings["tag"].to_numpy()
    assert 0 <= tag.min() <= tag.max() < n_tags
    assert taggings["count"].to_numpy().min() >= 1
    if n_users:
        assert all(int(u.removeprefix("user")) < n_users for u in taggings["user"].to_pylist())
    topics = corpus.topics(0, 30)
    assert 0 <= topics.min() <= topics.max() < n_topics
