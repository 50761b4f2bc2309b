"""Features of a stored corpus: equal to scikit-learn's, learnt from the training side alone, block by block."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from tagcore.corpus import Corpus, documents_table, taggings_table
from tagcore.features.build import VECTORISER, FeatureView, make_features
from tagcore.features.corpus_reader import document_texts
from tagcore.features.split import Split
from tagcore.shards import InProcess
from tagcore.store.datasets import Dataset
from tagcore.synthetic.corpus import demo_corpus
from tagcore.synthetic.media import demo_media
from tagcore.text import Vectoriser
from tagcore.text.analysis import TermLearner, TermLookup
from tagcore.text.document_fields import field_texts
from tests.problems import stored_side
from tests.tagcore.text.strategies import texts, wordy


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return text_corpus()


def text_corpus() -> Corpus:
    (block,) = demo_corpus(300).blocks(rows=300)
    return Corpus(block.documents, block.taggings, list(demo_corpus(300).tags))


def features_of(corpus, tmp_path, split=None, rows_per_group=64, executor=None, **parameters):
    corpus.save(tmp_path / "corpus", rows_per_group=rows_per_group)
    stored = Dataset.open(tmp_path / "corpus", "corpus")
    split = split or Split(test=0.3)
    make_features(
        stored,
        tmp_path / "features",
        Vectoriser(**parameters),
        split,
        executor=executor,
        parameters={"split": vars(split)},
    )
    return Dataset.open(tmp_path / "features", "features")


def counted_corpus(n: int = 60) -> Corpus:
    """With an official split: two in three to learn from."""
    rng = np.random.default_rng(0)
    bags = sp.random(n, 15, 0.3, format="csr", dtype=np.float32, rng=rng)
    bags.data = np.ceil(bags.data * 5) / 3
    sides = ["test" if i % 3 == 0 else "train" for i in range(n)]
    documents = documents_table(id=[str(i) for i in range(n)], split=sides)
    return Corpus(documents, taggings_table(np.arange(n), rng.integers(0, 4, n)), list("abcd"), bags, list(WORDS))


WORDS = [f"w{i}" for i in range(15)]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("rows_per_group", [4, 64])
@pytest.mark.parametrize(
    "parameters", [{}, {"ngram_range": (1, 2), "min_df": 2, "stem": "english"}, {"vocabulary": ["never", "the"]}]
)
def test_the_same_files_on_any_executor(corpus, tmp_path, parameters, rows_per_group):
    """also of a corpus with more row groups than are worked on ahead or learnt from as shards."""
    one, other = (
        features_of(corpus, tmp_path / str(n), rows_per_group=rows_per_group, executor=InProcess(n), **parameters)
        for n in (1, 3)
    )
    assert contents(one.folder) == contents(other.folder)
    assert {"train.parquet", "test.parquet", "vectoriser/terms.parquet"} < contents(one.folder).keys()
    groups = pq.ParquetFile(one.folder / "train.parquet").num_row_groups
    assert groups == -(-len(corpus) // rows_per_group)


SETTINGS = [
    {},
    {"min_df": 3, "max_df": 0.5},
    {"max_features": 20},
    {"max_features": 20, "binary": True, "dtype": np.float64},
    {"ngram_range": (1, 3), "max_features": 50},
    {"stem": "english", "stop_words": "english"},
    {"vocabulary": {"never": 1, "the": 0}},
    {"use_idf": False, "norm": None},
]


@pytest.mark.parametrize("parameters", SETTINGS)
def test_the_vectoriser_is_that_of_all_learning_texts_at_once(corpus, tmp_path, parameters):
    vectoriser = Vectoriser.load(features_of(corpus, tmp_path, rows_per_group=11, **parameters).folder / VECTORISER)
    learnt = ~Split(test=0.3).held_out(corpus.documents) & (np.diff(corpus.tags.indptr) > 0)
    whole = Vectoriser(**parameters).fit_blocks([document_texts(corpus.documents).filter(pa.array(learnt))])
    assert_same_state(vectoriser, whole)


@pytest.mark.parametrize("parameters", [s for s in SETTINGS if "vocabulary" not in s])
def test_the_vectoriser_is_that_of_all_learning_counts(tmp_path, parameters):
    corpus = counted_corpus()
    features = features_of(corpus, tmp_path, Split("official"), rows_per_group=7, **parameters)
    learnt = corpus.documents["split"].to_numpy() == "train"
    blocks = [corpus.words[i : i + 7][learnt[i : i + 7]] for i in range(0, len(corpus), 7)]
    whole = Vectoriser(**parameters).fit_counts(blocks, WORDS)
    assert_same_state(Vectoriser.load(features.folder / VECTORISER), whole)


def assert_same_state(one: Vectoriser, other: Vectoriser) -> None:
    assert one.terms_.tolist() == other.terms_.tolist()
    for name in ("df_", "idf_", "columns_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    assert (one.n_documents_, one.n_features_in_) == (other.n_documents_, other.n_features_in_)


odd_documents = st.fixed_dictionaries(
    {
        "title": st.none() | wordy,
        "text": st.none() | wordy | texts,
        "tags": st.lists(st.integers(0, 2), max_size=3),
        "split": st.sampled_from([None, None, "train", "test"]),
    }
)


splits = [Split(test=0.4), Split(test=2), Split(test=0.5, train_documents=3), Split(test=0.5, revealed=0.5)]
REFUSALS = "empty vocabulary|no document is left|has a tag|share one tag|there are . documents to take"


@settings(max_examples=60)
@given(st.lists(odd_documents, min_size=1, max_size=25), st.integers(1, 9), st.sampled_from(splits))
def test_odd_corpora_give_the_rows_of_the_whole_or_one_error(tmp_path_factory, documents, rows_per_group, split):
    tmp_path = tmp_path_factory.mktemp("odd")
    corpus = Corpus.from_texts([""] * len(documents), [d["tags"] for d in documents])
    columns = {name: [d[name] for d in documents] for name in ("title", "text", "split")}
    corpus = Corpus(
        documents_table(id=[str(i) for i in range(len(documents))], **columns), corpus.taggings, list("abc")
    )
    try:
        features = features_of(corpus, tmp_path, split, rows_per_group, InProcess(2))
    except ValueError as error:
        if not re.search(REFUSALS, str(error)) or (tmp_path / "features").exists():
            raise
        return
    texts = document_texts(corpus.documents)
    rows = {side: features.read(side)["document"].to_pylist() for side in ("train", "test")}
    whole = Vectoriser().fit(texts.take(rows["train"]))
    for side, documents_there in rows.items():
        X, Y = stored_side(features, side)
        np.testing.assert_array_equal(X.toarray(), whole.transform(texts.take(documents_there)).toarray())
        given_tags = corpus.tags[documents_there].toarray()
        assert (Y.toarray() <= given_tags).all()
        if split.revealed == 1 or side == "test":
            np.testing.assert_array_equal(Y.toarray(), given_tags)
    assert not set(rows["train"]) & set(rows["test"])


@pytest.mark.parametrize("rows_per_group", [7, 64, 1000])
def test_rows_are_those_of_scikit_learn_fitted_on_the_training_side(corpus, tmp_path, rows_per_group):
    features = features_of(corpus, tmp_path, rows_per_group=rows_per_group, min_df=2, sublinear_tf=True)
    texts = np.array(document_texts(corpus.documents).to_pylist(), object)
    tagged = np.diff(corpus.tags.indptr) > 0
    held_out = Split(test=0.3).held_out(corpus.documents)
    peer = TfidfVectorizer(min_df=2, sublinear_tf=True).fit(texts[~held_out & tagged])
    for side, rows in (("train", ~held_out & tagged), ("test", held_out & tagged)):
        X, Y = stored_side(features, side)
        assert abs(X - peer.transform(texts[rows])).max() < 1e-6
        assert (corpus.tags[np.flatnonzero(rows)] != Y).nnz == 0
        assert features.read(side)["document"].to_pylist() == np.flatnonzero(rows).tolist()
    assert Vectoriser.load(features.folder / VECTORISER).terms_.tolist() == peer.get_feature_names_out().tolist()


def test_counted_words_are_weighted_as_scikit_learn_weights_them(tmp_path):
    corpus = counted_corpus()
    features = features_of(corpus, tmp_path, Split("official"), rows_per_group=9)
    sides = corpus.documents["split"].to_numpy()
    peer = TfidfTransformer().fit(corpus.words[sides == "train"])
    for side in ("train", "test"):
        assert abs(stored_side(features, side)[0] - peer.transform(corpus.words[sides == side])).max() < 1e-6


def test_counted_words_give_the_same_files_on_any_executor(tmp_path):
    one, other = (
        features_of(counted_corpus(), tmp_path / str(n), Split("official"), 1, InProcess(n), max_features=7)
        for n in (1, 3)
    )
    assert contents(one.folder) == contents(other.folder)


def test_a_published_set_is_kept_whole_and_untagged_documents_are_left_out_of_others(tmp_path):
    n = 40
    tagged = [i for i in range(n) if i % 4]
    taggings = taggings_table(tagged, [i % 3 for i in tagged])
    content = {"id": [str(i) for i in range(n)], "text": ["some words here"] * n}
    published = documents_table(**content, split=["test" if i % 2 else "train" for i in range(n)])
    corpus = Corpus(published, taggings, list("abc"))
    official = features_of(corpus, tmp_path / "a", Split("official"))
    assert (official.counts["train"], official.counts["test"]) == (20, 20)
    redrawn = features_of(corpus, tmp_path / "b", Split(test=13))
    assert (redrawn.counts["train"], redrawn.counts["test"]) == (27, 13)
    drawn = features_of(Corpus(documents_table(**content), taggings, list("abc")), tmp_path / "c", Split(test=0.5))
    assert drawn.counts["train"] + drawn.counts["test"] == len(tagged)


@pytest.mark.parametrize("rows_per_group", [7, 300])
def test_numbers_of_documents_are_of_those_that_take_part(corpus, tmp_path, rows_per_group):
    split = Split(test=70, seed=2, train_documents=50, test_documents=40)
    features = features_of(corpus, tmp_path, split, rows_per_group=rows_per_group)
    assert (features.counts["train"], features.counts["test"]) == (50, 40)
    whole = features_of(corpus, tmp_path / "whole", Split(test=70, seed=2))
    assert whole.counts["test"] == 70
    for side in ("train", "test"):
        assert set(features.read(side)["document"].to_pylist()) < set(whole.read(side)["document"].to_pylist())


def test_row_groups_without_a_tagging_still_line_up(tmp_path):
    documents = documents_table(id=[str(i) for i in range(9)], text=["alpha beta"] * 9)
    corpus = Corpus(documents, taggings_table([0, 1, 2, 6, 7, 8], [0, 1, 0, 1, 0, 1]), ["x", "y"])
    features = features_of(corpus, tmp_path, Split(test=0.5, seed=1), rows_per_group=3)
    assert features.counts["train"] + features.counts["test"] == 6


@pytest.mark.parametrize(
    ("texts", "tags", "message"),
    [
        ([], [], "the corpus is empty"),
        (["a b"] * 20, [[]] * 20, "none of its 20 documents has a tag"),
        (["aa bb"] * 20, [["t"]] * 20, "all documents share one tag"),
        (["aa bb"] * 1, [["t", "u"]], "no document is left to"),
        ([""] * 40, [["t"], ["u"]] * 20, "empty vocabulary"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused_and_nothing_is_left(tmp_path, texts, tags, message):
    with pytest.raises(ValueError, match=message):
        features_of(Corpus.from_texts(texts, tags), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["corpus"]


def test_title_and_text_are_read_together():
    table = documents_table(id=["1", "2", "3"], title=["a", None, "c"], text=["x", "y", None])
    assert document_texts(table).to_pylist() == ["a\nx", "\ny", "c\n"]
    assert isinstance(document_texts(table), pa.Array)


def test_progress_is_told_shard_by_shard(corpus, tmp_path):
    corpus.save(tmp_path / "corpus", rows_per_group=20)
    told = []
    stored, vectoriser = Dataset.open(tmp_path / "corpus", "corpus"), Vectoriser()
    make_features(
        stored, tmp_path / "f", vectoriser, Split(), progress=lambda done, total, _: told.append((done, total))
    )
    assert told == [(done, 600) for done in range(20, 601, 20)]


@pytest.mark.parametrize("held_out", [False, True])
def test_a_wrong_count_is_named_by_file_and_row(tmp_path, held_out):
    corpus = counted_corpus()
    row = 30 if held_out else 31
    corpus.words.data[corpus.words.indptr[row]] = -2
    with pytest.raises(ValueError, match=rf"corpus/bags\.parquet: row {row}, column \d+: count -2\.0, expected"):
        features_of(corpus, tmp_path, Split("official"), rows_per_group=7)


COUNTS = {"use_idf": False, "norm": None}


def views_of(corpus, tmp_path, others, executor=None, **parameters):
    """The features data set and its views, made together."""
    corpus.save(tmp_path / "corpus", rows_per_group=64)
    stored, split = Dataset.open(tmp_path / "corpus", "corpus"), Split(test=0.3)
    views = [FeatureView(tmp_path / f"view {i}", Vectoriser(**other)) for i, other in enumerate(others)]
    given = {"executor": executor, "views": views}
    make_features(stored, tmp_path / "features", Vectoriser(**parameters), split, **given)
    return [Dataset.open(folder, "features") for folder in (tmp_path / "features", *(view.folder for view in views))]


@pytest.mark.parametrize("counted", [False, True])
def test_views_made_together_have_the_bits_of_each_alone(tmp_path, counted):
    corpus = counted_corpus() if counted else text_corpus()
    settings = [{"min_df": 2, "sublinear_tf": True}, {"min_df": 2} | COUNTS, {"min_df": 2, "norm": "l1"}]
    together = views_of(corpus, tmp_path / "all", settings[1:], InProcess(2), **settings[0])
    for i, (made, parameters) in enumerate(zip(together, settings, strict=True)):
        (alone,) = views_of(corpus, tmp_path / str(i), [], **parameters)
        for file in ("train.parquet", "test.parquet", "tags.parquet", "vectoriser/terms.parquet"):
            assert (made.folder / file).read_bytes() == (alone.folder / file).read_bytes(), file
        for side in ("train", "test"):
            found, expected = stored_side(made, side), stored_side(alone, side)
            assert abs(found[0] - expected[0]).nnz == abs(found[1] - expected[1]).nnz == 0
        assert Vectoriser.load(made.folder / VECTORISER).get_params() == Vectoriser(**parameters).get_params()


def test_counts_beside_tf_idf_tokenise_no_text_again(tmp_path, monkeypatch):
    """every text is read to learn the terms and to weigh them, whether one view is made or three."""
    read = []
    for kind in (TermLearner, TermLookup):
        ids = kind.ids
        monkeypatch.setattr(kind, "ids", lambda self, block, ids=ids: (read.append(len(block)), ids(self, block))[1])
    (alone,) = views_of(text_corpus(), tmp_path / "one", [])
    once, n = sum(read), alone.counts["train"] + alone.counts["test"]
    assert once == n + alone.counts["train"]
    read.clear()
    views_of(text_corpus(), tmp_path / "three", [COUNTS, {"norm": "l1"}])
    assert sum(read) == once


def test_a_view_of_other_terms_is_refused(tmp_path):
    with pytest.raises(ValueError, match="min_df is 3, that of the other 1"):
        views_of(text_corpus(), tmp_path, [{"min_df": 3}])
    assert not (tmp_path / "features").exists()


@pytest.mark.parametrize("executor", [None, InProcess(2)])
def test_tags_on_few_documents_to_learn_from_are_left_out_of_both_sides(corpus, tmp_path, executor):
    (tmp_path / "all").mkdir()
    whole = features_of(corpus, tmp_path / "all")
    (tmp_path / "some").mkdir()
    some = features_of(corpus, tmp_path / "some", Split(test=0.3, min_tag_df=20), executor=executor)
    counts = np.bincount(stored_side(whole, "train")[1].indices, minlength=len(whole.names("tags")))
    kept = np.flatnonzero(counts >= 20)
    assert 0 < kept.size < counts.size
    assert some.names("tags") == [whole.names("tags")[tag] for tag in kept]
    for side in ("train", "test"):
        (X, Y), (X_all, Y_all) = stored_side(some, side), stored_side(whole, side)
        np.testing.assert_array_equal(Y.toarray(), Y_all[:, kept].toarray())
        np.testing.assert_array_equal(X.toarray(), X_all.toarray())


def test_no_tag_that_is_on_enough_documents_is_an_error(corpus, tmp_path):
    with pytest.raises(ValueError, match=r"split\.min_tag_df = 1000: no tag is on so many documents"):
        features_of(corpus, tmp_path, Split(test=0.3, min_tag_df=1000))


MEDIA = demo_media(300)


def media_corpus() -> Corpus:
    (block,) = MEDIA.blocks(rows=300)
    return Corpus(block.documents, block.taggings, list(MEDIA.tags), fields=block.fields)


def test_fields_give_the_same_files_on_any_executor_and_the_rows_of_all_documents_at_once(tmp_path):
    parameters = {"fields": {"title": 4.0, "comments": 0.5, "url": 1.0}, "own_columns": ["title"], "min_df": 2}
    corpus = media_corpus()
    one, other = (
        features_of(corpus, tmp_path / str(n), rows_per_group=rows, executor=InProcess(n), **parameters)
        for n, rows in ((1, 64), (3, 64))
    )
    assert contents(one.folder) == contents(other.folder)
    names = ("comments", "title", "url")
    learnt = ~Split(test=0.3).held_out(corpus.documents)
    documents = field_texts(corpus.documents, corpus.fields, names).filter(pa.array(learnt))
    whole = Vectoriser(**parameters)
    rows = whole.fit_transform(documents)
    stored, _ = stored_side(one, "train")
    assert Vectoriser.load(one.folder / VECTORISER).terms_.tolist() == whole.terms_.tolist()
    np.testing.assert_array_equal(stored.toarray(), rows.toarray())


@pytest.mark.parametrize(
    ("corpus", "field", "expected"),
    [
        (text_corpus(), "comments", "no field 'comments' was stored; name it in data.options.fields"),
        (media_corpus(), "comment", "no document has a field 'comment', only comments, description, related_names"),
        (counted_corpus(), "title", "its source counted words, which have no fields to be read apart"),
    ],
)
def test_fields_that_no_document_has(tmp_path, corpus, field, expected):
    with pytest.raises(ValueError, match=expected):
        features_of(corpus, tmp_path, fields={field: 1.0})
