"""Planted news: rows of the shape of RCV1-v2, with the topics that were asked for in them."""

import gzip
import hashlib

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import f1_score
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from tagcore.corpus import Corpus, append_block, append_names, tag_matrix
from tagcore.readers.qrels import read_qrels
from tagcore.readers.rcv1.taxonomy import read_taxonomy
from tagcore.store.datasets import write_dataset
from tagcore.store.schemas import DOCUMENTS, TAGGINGS
from tagcore.synthetic import newswire
from tagcore.synthetic.lexicon import Lexicon, depth, parent_ids
from tagcore.synthetic.newswire import GENERATOR, PlantedNewswire, rcv1_shaped

NAMES = ["C", "C1", "C11", "C2", "G", "G1", "G2"]
PARENTS = {"C": "Root", "C1": "C", "C2": "C", "C11": "C1", "G": "Root", "G1": "G", "G2": "G"}


def topics_of(n, seed=0):
    """one or two leaves each, the last ones rare, with all their ancestors; every seventh story has none."""
    rng = np.random.default_rng(seed)
    above = parent_ids(NAMES, PARENTS)
    rows = np.zeros((n, len(NAMES)), np.int8)
    for i in range(n):
        if i % 7 == 6:
            continue
        for topic in rng.choice([2, 3, 5, 6], rng.integers(1, 3), p=[0.4, 0.35, 0.2, 0.05]):
            while topic >= 0:
                rows[i, topic] = 1
                topic = above[topic]
    return sp.csr_matrix(rows)


def small(n=200, **changes):
    facts = {"parents": PARENTS, "n_words": 3000, "words_per_document": 20, "seed": 3}
    return PlantedNewswire(changes.pop("labels", topics_of(n)), NAMES, **{**facts, **changes})


def whole(source, rows=8192):
    blocks = list(source.blocks(rows))
    taggings = [tag_matrix(b.taggings, b.documents.num_rows, len(source.tags)) for b in blocks]
    documents = pa.concat_tables([b.documents for b in blocks])
    return documents, sp.vstack(taggings).tocsr(), sp.vstack([b.words for b in blocks]).tocsr()


def equal(a, b):
    return a.shape == b.shape and (a != b).nnz == 0


@given(rows=st.integers(1, 80), n=st.integers(1, 70), weighted=st.booleans())
@settings(max_examples=25)
def test_blocks_and_number_do_not_change_a_story(rows, n, weighted):
    labels = topics_of(70)
    documents, tags, words = whole(small(labels=labels, weighted=weighted))
    cut_documents, cut_tags, cut_words = whole(small(labels=labels, weighted=weighted, n_documents=n), rows)
    assert cut_documents.combine_chunks() == documents.slice(0, n).combine_chunks()
    assert equal(cut_tags, tags[:n])
    assert equal(cut_words, words[:n])


def test_later_labels_do_not_change_a_story(monkeypatch):
    monkeypatch.setattr(newswire, "FROZEN", 30)
    labels = topics_of(90)
    assert equal(whole(small(labels=labels))[2][:40], whole(small(labels=labels[:40]))[2])


def test_every_process_draws_the_same():
    words = whole(small(50, weighted=False))[2]
    digest = hashlib.sha256(np.concatenate([words.indptr, words.indices, words.data]).astype(np.int64)).hexdigest()
    assert digest[:16] == {1: "bae0e3e370242ad6"}[GENERATOR], "same parameters, other stories: raise GENERATOR"


def test_tables_are_of_the_schema_and_rows_are_whole():
    for block in small(n_train=20).blocks(64):
        assert block.documents.schema == DOCUMENTS
        assert block.taggings.schema == TAGGINGS
        block.documents.validate(full=True)
        block.taggings.validate(full=True)
        assert block.words.dtype == np.float32
        assert block.words.has_canonical_format
        assert block.words.data.min() > 0
        np.testing.assert_allclose(np.sqrt(block.words.multiply(block.words).sum(axis=1)), 1, rtol=1e-5)


def test_topics_are_those_that_were_given():
    labels = topics_of(200)
    labels.data[:] = 3  # a label is there or not; a stored zero is not
    labels.data[0] = 0
    documents, tags, _ = whole(small(labels=labels, ids=np.arange(2286, 2486), n_train=50), 64)
    assert equal(tags, (labels > 0).astype(np.float32))
    assert documents["id"].to_pylist() == [str(i) for i in range(2286, 2486)]
    assert documents["split"].to_pylist() == ["train"] * 50 + ["test"] * 150
    assert labels.nnz == labels.data.size > tags.nnz  # the caller's stay as they were


def test_weights_are_cosine_tf_idf_of_the_counts():
    counts, weights = whole(small(weighted=False))[2], whole(small())[2]
    assert counts.data.max() > 2
    np.testing.assert_array_equal(counts.indices, weights.indices)
    df = (counts.toarray() > 0).sum(axis=0)
    expected = TfidfTransformer(sublinear_tf=True, use_idf=False, norm=None).fit_transform(counts)
    expected = expected @ sp.diags_array(np.log(201 / (df + 0.5)))
    np.testing.assert_allclose(weights.toarray(), normalize(expected).toarray(), rtol=1e-4)


def test_lengths_are_log_normal():
    lengths = np.diff(whole(small(4000, words_per_document=60, n_words=40_000, n_documents=4000))[2].indptr)
    assert lengths.mean() == pytest.approx(60, rel=0.05)
    assert np.log(lengths).std() == pytest.approx(0.7, rel=0.06)


@pytest.mark.parametrize("topic", ["C", "C11", "G1"])
def test_words_of_a_topic_follow_what_was_planted(topic):
    k = NAMES.index(topic)
    labels = sp.csr_matrix((np.ones(3000), (np.arange(3000), np.full(3000, k))), shape=(3000, 7))
    source = small(labels=labels, stray=0, weighted=False, n_words=600)
    truth = source.truth
    counts = np.asarray(whole(source)[2].sum(axis=0)).ravel()
    planted = 0.55 * truth.topic_words.toarray() + 0.45 * truth.any_word
    off = 0.5 * np.abs(counts / counts.sum() - planted).sum(axis=1)
    assert off[k] < 0.1  # a story ends when it has enough different words: frequent ones come a little short
    assert np.delete(off, k).min() > 0.15
    assert np.argmin(off) == k


def test_topics_speak_with_the_words_of_their_ancestors():
    lexicon = Lexicon.invent(parent_ids(NAMES, PARENTS), 5000, 0)
    spoken, own = lexicon.topic_words(0.3).toarray(), lexicon.topic_words(0).toarray()
    np.testing.assert_allclose(spoken.sum(axis=1), 1)
    np.testing.assert_allclose(spoken[0], own[0])
    np.testing.assert_allclose(spoken[1], 0.7 * own[1] + 0.3 * own[0])
    np.testing.assert_allclose(spoken[2], 0.7 * own[2] + 0.21 * own[1] + 0.09 * own[0])
    np.testing.assert_allclose(lexicon.topic_words(1).toarray()[2], own[0])
    assert lexicon.any_word.sum() == pytest.approx(1)
    assert lexicon.any_word.min() > 0


def test_a_linear_model_finds_the_topics_but_not_all():
    labels = topics_of(6000)
    _, tags, X = whole(small(labels=labels, n_words=20_000, words_per_document=60))
    y = tags.toarray() > 0
    train, test = slice(0, 4000), slice(4000, None)
    guesses = np.array([LinearSVC().fit(X[train], y[train, k]).predict(X[test]) for k in range(7)]).T
    assert 0.8 < f1_score(y[test], guesses, average="micro") < 0.97
    each = f1_score(y[test], guesses, average=None)
    assert each[6] == each.min()  # the rare one


def test_goes_into_the_store_as_any_source(tmp_path):
    source = small()
    with write_dataset(tmp_path / "corpus", "corpus", inputs={"source": source.fingerprint()}) as writer:
        for block in source.blocks(64):
            append_block(writer, block)
        append_names(writer, source.tags, source.words)
    stored = Corpus.load(tmp_path / "corpus")
    _, tags, words = whole(source)
    assert equal(stored.words, words)
    assert equal(stored.tags, tags)
    assert stored.tag_names == NAMES
    assert len(stored.word_names) == 3000


def test_fingerprint_names_the_content():
    assert small().fingerprint() == small().fingerprint()
    others = [
        small(201),
        small(labels=topics_of(200, seed=1)),
        small(n_documents=199),
        small(n_train=5),
        small(ids=range(200)),
        small(parents=None),
        small(n_words=3001),
        small(words_per_document=21),
        small(noise=0.4),
        small(inherit=0.4),
        small(stray=0.4),
        small(weighted=False),
        small(seed=4),
        PlantedNewswire(topics_of(200), list("abcdefg"), n_words=3000, words_per_document=20, seed=3),
    ]
    prints = [small().fingerprint(), *(s.fingerprint() for s in others)]
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_documents": 201}, "n_documents = 201, expected a whole number from 0 to 200"),
        ({"n_train": -1}, "n_train = -1"),
        ({"n_words": 0}, "n_words = 0, expected a whole number from 1"),
        ({"words_per_document": 0.5}, "words_per_document = 0.5"),
        ({"noise": 1.5}, "noise = 1.5, expected a number from 0 to 1"),
        ({"inherit": float("nan")}, "inherit = nan"),
        ({"stray": True}, "stray = True"),
        ({"seed": -1}, "seed = -1"),
        ({"ids": ["a"]}, "1 ids of 200 stories"),
        ({"labels": sp.csr_matrix((5, 3))}, "7 different names of 3 topics"),
        ({"parents": {"C": "C1", "C1": "C"}}, "topic 0 is its own ancestor"),
    ],
)
def test_odd_parameters_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_a_block_has_at_least_one_row():
    with pytest.raises(ValueError, match="rows = 0"):
        next(small().blocks(0))


@given(
    n_words=st.integers(1, 40),
    per_document=st.floats(1, 60),
    shares=st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 3),
    labels=st.lists(st.lists(st.integers(0, 1), min_size=7, max_size=7), min_size=1, max_size=9),
)
@settings(max_examples=60)
def test_small_worlds_are_sound(n_words, per_document, shares, labels):
    noise, inherit, stray = shares
    given_labels = sp.csr_matrix(np.array(labels))
    source = small(
        labels=given_labels,
        n_words=n_words,
        words_per_document=per_document,
        noise=noise,
        inherit=inherit,
        stray=stray,
    )
    _, tags, words = whole(source)
    assert equal(tags, given_labels.astype(np.float32))
    assert words.shape == (len(labels), n_words)
    assert np.diff(words.indptr).min() >= 1
    assert np.all((words.data > 0) & (words.data <= 1.0001))


def test_depth_of_a_forest():
    assert depth(np.array([], int)) == 0
    assert depth(np.array([-1, -1])) == 0
    assert depth(parent_ids(NAMES, PARENTS)) == 2


def read_vw(path):
    """rows of `label |f id:value ...`."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        rows = [line.split("|f")[1].split() for line in file]
    pairs = [tuple(pair.split(":")) for row in rows for pair in row]
    ends = np.cumsum([0] + [len(row) for row in rows])
    return sp.csr_matrix(([float(v) for _, v in pairs], [int(i) for i, _ in pairs], ends), shape=(len(rows), 47_237))


@pytest.mark.data
def test_rows_look_like_those_of_reuters(shared_data):
    folder = shared_data / "rcv1"
    real = sp.vstack([read_vw(folder / f) for f in ("rcv1_small.dat.gz", "rcv1_small_test.data.gz")]).tocsr()
    topics, above = read_taxonomy(folder / "rcv1.taxonomy")
    ids, labels, names = read_qrels(folder / "rcv1-v2.topics.qrels.gz")
    parents = {topic: topics[k] for topic, k in zip(topics, above, strict=True) if k >= 0}
    source = rcv1_shaped(labels, names, parents, ids, n_documents=24_000)
    assert (source.truth.parents >= 0).sum() == 103 - 4
    documents, _, planted = whole(source)
    assert documents["split"].to_pylist().count("train") == 23_149
    assert documents["id"][23_148].as_py() == "26150"  # the last of the official training part
    planted = planted[::16]
    assert planted.shape == (1500, 47_236)

    quantiles = [0.05, 0.25, 0.5, 0.75, 0.95]
    lengths, wanted = (np.quantile(np.diff(m.indptr), quantiles) for m in (planted, real))
    np.testing.assert_allclose(lengths, wanted, rtol=0.15)
    assert np.diff(planted.indptr).mean() == pytest.approx(np.diff(real.indptr).mean(), rel=0.05)
    values, wanted = (np.quantile(m.data, quantiles) for m in (planted, real))
    np.testing.assert_allclose(values, wanted, rtol=0.15)
    best, wanted = (np.median(m.max(axis=1).toarray()) for m in (planted, real))
    assert best == pytest.approx(wanted, rel=0.15)
    ranks = [9, 29, 99, 299, 999, 2999]
    frequent, wanted = (np.sort(np.bincount(m.indices))[::-1][ranks] for m in (planted, real))
    np.testing.assert_allclose(frequent, wanted, rtol=0.3)
