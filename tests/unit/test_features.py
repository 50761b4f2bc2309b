"""Features of a stored corpus: equal to scikit-learn's, learnt from the training side alone, block by block."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from tagcore.corpus import Corpus, documents_table, taggings_table
from tagcore.features import VECTORISER, document_texts, load_rows, make_features
from tagcore.split import Split
from tagcore.store import Dataset
from tagcore.synthetic import demo_corpus
from tagcore.text import Vectoriser


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    blocks = list(demo_corpus(300).blocks(rows=300))
    return Corpus(blocks[0].documents, blocks[0].taggings, list(demo_corpus(300).tags))


def features_of(corpus, tmp_path, split=None, rows_per_group=64, **settings):
    corpus.save(tmp_path / "corpus", rows_per_group=rows_per_group)
    stored = Dataset.open(tmp_path / "corpus", "corpus")
    split = split or Split(test=0.3)
    make_features(stored, tmp_path / "features", Vectoriser(**settings), split, parameters={"split": vars(split)})
    return Dataset.open(tmp_path / "features", "features")


@pytest.mark.parametrize("rows_per_group", [7, 64, 1000])
def test_rows_are_those_of_scikit_learn_fitted_on_the_training_side(corpus, tmp_path, rows_per_group):
    found = features_of(corpus, tmp_path, rows_per_group=rows_per_group, min_df=2, sublinear_tf=True)
    texts = np.array(document_texts(corpus.documents).to_pylist(), object)
    tagged = np.diff(corpus.tags.indptr) > 0
    held_out = Split(test=0.3).held_out(corpus.documents)
    peer = TfidfVectorizer(min_df=2, sublinear_tf=True).fit(texts[~held_out & tagged])
    for side, rows in (("train", ~held_out & tagged), ("test", held_out & tagged)):
        X, Y = load_rows(found, side)
        assert abs(X - peer.transform(texts[rows])).max() < 1e-6
        assert (corpus.tags[np.flatnonzero(rows)] != Y).nnz == 0
        assert found.read(side)["document"].to_pylist() == np.flatnonzero(rows).tolist()
    assert Vectoriser.load(found.folder / VECTORISER).terms_.tolist() == peer.get_feature_names_out().tolist()


def test_counted_words_are_weighted_as_scikit_learn_weights_them(tmp_path):
    rng = np.random.default_rng(0)
    bags = sp.random(60, 15, 0.3, format="csr", dtype=np.float32, rng=rng)
    bags.data = np.ceil(bags.data * 5)
    tags = taggings_table(np.arange(60), rng.integers(0, 4, 60))
    split = ["train"] * 40 + ["test"] * 20
    documents = documents_table(id=[str(i) for i in range(60)], split=split)
    corpus = Corpus(documents, tags, list("abcd"), bags, [f"w{i}" for i in range(15)])
    found = features_of(corpus, tmp_path, Split("official"), rows_per_group=9)
    peer = TfidfTransformer().fit(bags[:40])
    for side, rows in (("train", slice(0, 40)), ("test", slice(40, 60))):
        assert abs(load_rows(found, side)[0] - peer.transform(bags[rows])).max() < 1e-6


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
    found = features_of(corpus, tmp_path, split, rows_per_group=rows_per_group)
    assert (found.counts["train"], found.counts["test"]) == (50, 40)
    whole = features_of(corpus, tmp_path / "whole", Split(test=70, seed=2))
    assert whole.counts["test"] == 70
    for side in ("train", "test"):
        assert set(found.read(side)["document"].to_pylist()) < set(whole.read(side)["document"].to_pylist())


def test_row_groups_without_a_tagging_still_line_up(tmp_path):
    documents = documents_table(id=[str(i) for i in range(9)], text=["alpha beta"] * 9)
    corpus = Corpus(documents, taggings_table([0, 1, 2, 6, 7, 8], [0, 1, 0, 1, 0, 1]), ["x", "y"])
    found = features_of(corpus, tmp_path, Split(test=0.5, seed=1), rows_per_group=3)
    assert found.counts["train"] + found.counts["test"] == 6


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
