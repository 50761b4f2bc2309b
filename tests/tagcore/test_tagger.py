"""Taggers: raw text in, tags out, the same after a trip to the disk; and how champions are compared."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore import load_model
from tagcore.baselines import KNN, OneVsRestLinear, Popular, VectorSimilarity
from tagcore.corpus import Corpus, documents_table, taggings_table
from tagcore.features.build import VECTORISER, make_features
from tagcore.features.rows import InMemory
from tagcore.features.split import Split
from tagcore.fitting import fit_calibrated, make_model
from tagcore.metrics.evaluate_model import evaluate
from tagcore.metrics.held_out import held_out_values
from tagcore.rating_model import RatingModel
from tagcore.store.datasets import Dataset, StoreError
from tagcore.synthetic.corpus import demo_corpus
from tagcore.tag_model import TagModel
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tagcore.text.joined import JoinedVectoriser
from tests.problems import stored_side

TEXTS = ["red apple pie", "green pear tart", "apple and pear", "fast red car", "blue car wheel", "car engine"] * 6
TAGS = [["fruit"], ["fruit"], ["fruit"], ["cars"], ["cars"], ["cars", "repair"]] * 6


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    corpus = Corpus.from_texts(TEXTS, TAGS)
    vectoriser = Vectoriser()
    X = vectoriser.fit_transform(TEXTS)
    model = KNN(n_neighbors=5)
    calibrator = fit_calibrated(model, InMemory(X, corpus.tags), "isotonic")
    return Tagger(vectoriser, model, corpus.tag_names, calibrator)


def test_raw_text_gets_the_obvious_tags(tagger):
    fruit, cars = tagger.suggest(["<p>a <b>pear</b> pie</p>", "the engine of a car"], k=2)
    assert fruit[0].tag == "fruit"
    assert cars[0].tag == "cars"
    assert all(0 <= s.score <= 1 for s in fruit + cars)
    assert tagger.rows(["pear zeppelin"]).nnz == 1


def test_a_stored_tagger_gives_the_same_bits(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.suggest(TEXTS, k=3) == tagger.suggest(TEXTS, k=3)
    assert {p.suffix for p in (tmp_path / "m").rglob("*") if p.is_file()} <= {".json", ".safetensors", ".parquet"}


def test_a_tagger_without_calibrator_gives_the_models_own_probabilities(tagger, tmp_path):
    plain = Tagger(tagger.vectoriser, tagger.model, tagger.tag_names)
    plain.save(tmp_path / "m")
    X = tagger.vectoriser.transform(["red car"])
    expected = tagger.model.predict_proba(X).max()
    assert load_model(tmp_path / "m").suggest(["red car"], k=1)[0][0].score == expected


@pytest.mark.parametrize("texts", ["red car", b"red car", ["red car", 7]])
def test_texts_that_are_no_list_of_strings_are_refused(tagger, texts):
    for ask in (tagger.suggest, tagger.label, tagger.rows):
        with pytest.raises(ValueError, match=r"(the one string b?'red car', expected a list|text 1 is 7, expected a)"):
            ask(texts)


def test_one_document_is_no_list_of_texts(tagger):
    for ask in (tagger.suggest, tagger.label, tagger.rows):
        with pytest.raises(ValueError, match=r"the one document \{'text': 'car', 'title': 'red'\}, expected a list"):
            ask({"title": "red", "text": "car"})


def test_texts_may_come_one_by_one_or_not_at_all(tagger):
    assert tagger.suggest(text for text in TEXTS) == tagger.suggest(TEXTS)
    assert tagger.label(iter(TEXTS)) == tagger.label(TEXTS)
    assert tagger.suggest([]) == tagger.label([]) == []


def test_a_text_may_have_every_field_that_a_view_reads():
    documents = [{"title": title, "abstract": text} for title, text in (("red", "apple pie"), ("fast", "car"))]
    both = Vectoriser(fields={"title": 1, "abstract": 1}).fit(documents)
    titles = Vectoriser(fields={"title": 1}).fit([{"title": document["title"]} for document in documents])
    joined = JoinedVectoriser([both, titles])
    model = KNN(n_neighbors=1).fit(joined.transform(documents), np.eye(2))
    tagger = Tagger(joined, model, ["fruit", "cars"])
    assert tagger.fields == ("abstract", "title")
    assert [best[0].tag for best in tagger.suggest(documents, k=1)] == ["fruit", "cars"]


def test_a_model_stored_without_words_and_names_says_what_to_do(tagger, tmp_path):
    tagger.model.save(tmp_path / "m")
    with pytest.raises(StoreError, match=r"m: holds a model alone.*Tagger\(vectoriser, model, tag_names\)\.save"):
        load_model(tmp_path / "m")


def test_a_text_without_a_known_word_gets_the_popular_tags(tagger, tmp_path):
    model = VectorSimilarity().fit(tagger.vectoriser.transform(TEXTS), Corpus.from_texts(TEXTS, TAGS).tags)
    shares = np.array([0.2, 0.4, 0.7])
    Tagger(tagger.vectoriser, model, tagger.tag_names, tagger.calibrator, None, shares).save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    known, unknown = loaded.suggest(["red car", "zzz qqq"], k=2)
    assert unknown == [("repair", 0.7), ("cars", 0.4)]
    assert known == Tagger(tagger.vectoriser, model, tagger.tag_names, tagger.calibrator).suggest(["red car"], k=2)[0]
    assert loaded.label(["zzz qqq"]) == [[("repair", 0.7)]]
    assert len(loaded.suggest(["zzz"], k=99)[0]) == 3


@pytest.mark.parametrize("shares", [np.zeros(2), np.array([0.0, np.nan, 0.0]), np.array([0.0, 1.5, 0.0])])
def test_shares_of_tags_must_be_one_share_per_tag(tagger, shares):
    with pytest.raises(ValueError, match="tag_shares must be 3 numbers from 0 to 1"):
        Tagger(tagger.vectoriser, tagger.model, tagger.tag_names, tag_shares=shares)


def test_thresholds_decide_how_many_tags_a_text_gets(tagger, tmp_path):
    X = tagger.vectoriser.transform(TEXTS)
    ((_, scores),) = tagger.model.score_blocks(X)
    limits = np.array([np.inf, 0.0, -np.inf])
    labelling = Tagger(tagger.vectoriser, tagger.model, tagger.tag_names, tagger.calibrator, limits)
    labelling.save(tmp_path / "m")
    found = load_model(tmp_path / "m").label(TEXTS)
    for row, suggestions in enumerate(found):
        assert {s.tag for s in suggestions} == {tagger.tag_names[t] for t in np.flatnonzero(scores[row] > limits)}
        assert [s.score for s in suggestions] == sorted((s.score for s in suggestions), reverse=True)
    assert any(len(suggestions) == 2 for suggestions in found)
    halves = tagger.label(TEXTS)
    probabilities = tagger.proba(scores)
    assert [len(suggestions) for suggestions in halves] == (probabilities > 0.5).sum(axis=1).tolist()
    assert {s.score > 0.5 for suggestions in halves for s in suggestions} == {True}
    assert tagger.label(["zzz qqq"])[0] == [s for s in tagger.suggest(["zzz qqq"], 3)[0] if s.score > 0.5]


@pytest.mark.parametrize("limits", [np.zeros(2), np.array([0.0, np.nan, 0.0]), np.zeros((3, 1)), np.zeros(3, int)])
def test_thresholds_must_be_one_number_per_tag(tagger, limits):
    with pytest.raises(ValueError, match="thresholds must be 3 numbers"):
        Tagger(tagger.vectoriser, tagger.model, tagger.tag_names, thresholds=limits)


@pytest.mark.parametrize("damage", ["cut", "missing", "class", "calibrator", "folder"])
def test_a_damaged_tagger_is_refused(tagger, tmp_path, damage):
    folder = tmp_path / "m"
    tagger.save(folder)
    state, head = folder / "model" / "state.safetensors", folder / "model" / "model.json"
    if damage == "cut":
        state.write_bytes(state.read_bytes()[:-10])
    elif damage == "missing":
        state.unlink()
    elif damage == "class":
        head.write_text(head.read_text().replace("KNN", "os.system"))
    elif damage == "calibrator":
        (folder / "tagger.json").write_text(json.dumps({"calibrator": "evil"}))
    else:
        folder = tmp_path / "none"
    with pytest.raises(StoreError, match=str(folder)):
        load_model(folder)


def test_parts_that_do_not_fit_together_are_refused(tagger):
    with pytest.raises(ValueError, match="4 tag names"):
        Tagger(tagger.vectoriser, tagger.model, [*tagger.tag_names, "more"])
    with pytest.raises(ValueError, match="vectoriser knows"):
        Tagger(Vectoriser().fit(["other words"]), tagger.model, tagger.tag_names)


def test_models_are_made_by_name_and_mistakes_are_listed():
    model = make_model("OneVsRestLinear", {"C": 0.5}, 3, TagModel)
    assert (model.C, model.random_state) == (0.5, 3)
    with pytest.raises(ValueError, match="no model 'SVM'; there are"):
        make_model("SVM", {}, 0, TagModel)
    with pytest.raises(ValueError, match="KNN has no parameter 'k'; it has"):
        make_model("KNN", {"k": 3}, 0, TagModel)
    with pytest.raises(ValueError, match=r"ItemMean learns from ratings, expected .* that learns from documents: BCS"):
        make_model("itemmean", {}, 0, TagModel)
    with pytest.raises(ValueError, match=r"KNN learns from documents, expected .* that learns from ratings: Damped"):
        make_model("KNN", {}, 0, RatingModel)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contest")
    source = demo_corpus(500)
    (block,) = source.blocks(rows=500)
    Corpus(block.documents, block.taggings, list(source.tags)).save(folder / "corpus", rows_per_group=128)
    corpus, split = Dataset.open(folder / "corpus", "corpus"), Split(test=0.4)
    make_features(corpus, folder / "features", Vectoriser(), split, parameters={"split": vars(split)})
    return corpus, Dataset.open(folder / "features", "features")


@pytest.mark.parametrize("measure", ["P@1", "nDCG@5", "R@10", "acc@3"])
@pytest.mark.parametrize("model", [Popular(), KNN(n_neighbors=7), OneVsRestLinear()])
def test_a_contest_measures_what_the_evaluation_measures(stored, model, measure):
    corpus, features = stored
    model.fit(*stored_side(features, "train"))
    tagger = Tagger(Vectoriser.load(features.folder / VECTORISER), model, features.names("tags"))
    expected = evaluate(tagger, *stored_side(features, "test")).per_document[measure].to_numpy()
    np.testing.assert_array_equal(held_out_values(tagger, corpus, features, measure), expected)


def test_a_champion_with_other_words_and_tags_is_matched_by_name(stored):
    corpus, features = stored
    names = features.names("tags")
    X, Y = stored_side(features, "train")
    order = np.random.default_rng(0).permutation(len(names))
    extra = sp.csr_matrix(([1.0], ([0], [0])), shape=(X.shape[0], 1))
    vectoriser = Vectoriser.load(features.folder / VECTORISER)
    model = KNN().fit(X, sp.hstack([extra, Y[:, order]], format="csr"))
    shuffled = Tagger(vectoriser, model, ["a tag of last year", *(names[i] for i in order)])
    plain = Tagger(vectoriser, KNN().fit(X, Y), names)
    ours, theirs = (held_out_values(t, corpus, features, "R@10") for t in (shuffled, plain))
    assert abs(ours.mean() - theirs.mean()) < 0.02


def test_counted_words_are_matched_by_name_too(tmp_path):
    rng = np.random.default_rng(5)
    bags = sp.random(80, 12, 0.4, format="csr", dtype=np.float32, rng=rng)
    tags = taggings_table(np.arange(80), rng.integers(0, 4, 80))
    documents = documents_table(id=[str(i) for i in range(80)])
    words = [f"word{i}" for i in range(12)]
    Corpus(documents, tags, list("abcd"), bags, words).save(tmp_path / "corpus", rows_per_group=30)
    corpus, split = Dataset.open(tmp_path / "corpus", "corpus"), Split(test=0.5)
    make_features(corpus, tmp_path / "f", Vectoriser(max_features=9), split, parameters={"split": vars(split)})
    features = Dataset.open(tmp_path / "f", "features")
    model = KNN(n_neighbors=3).fit(*stored_side(features, "train"))
    tagger = Tagger(Vectoriser.load(features.folder / VECTORISER), model, features.names("tags"))
    expected = evaluate(tagger, *stored_side(features, "test")).per_document["P@1"].to_numpy()
    np.testing.assert_array_equal(held_out_values(tagger, corpus, features, "P@1"), expected)


def test_a_contest_leaves_rare_tags_out_as_the_split_does(stored, tmp_path):
    corpus, whole = stored
    split = Split(test=0.4, min_tag_df=15)
    make_features(corpus, tmp_path / "features", Vectoriser(), split, parameters={"split": vars(split)})
    features = Dataset.open(tmp_path / "features", "features")
    assert len(features.names("tags")) < len(whole.names("tags"))
    vectoriser, test = Vectoriser.load(features.folder / VECTORISER), stored_side(features, "test")
    tagger = Tagger(vectoriser, KNN().fit(*stored_side(features, "train")), features.names("tags"))
    expected = evaluate(tagger, *test).per_document["R@5"].to_numpy()
    np.testing.assert_array_equal(held_out_values(tagger, corpus, features, "R@5"), expected)
    champion = Tagger(vectoriser, KNN().fit(*stored_side(whole, "train")), whole.names("tags"))  # knows rare tags
    names = features.names("tags")
    top = champion.top_k(test[0], 5)[0]
    hits = [
        sum(names[t] in {champion.tag_names[s] for s in row} for t in Y.indices)
        for row, Y in zip(top, test[1], strict=True)
    ]
    theirs = np.array(hits) / np.maximum(np.diff(test[1].indptr), 1)
    np.testing.assert_allclose(held_out_values(champion, corpus, features, "R@5"), theirs)


def test_only_measures_of_single_documents_decide(stored, tagger):
    with pytest.raises(ValueError, match="not by 'AUC'"):
        held_out_values(tagger, *stored, "AUC")


def test_a_stored_tagger_takes_texts_by_field(tagger, tmp_path):
    documents = [{"title": "<i>pear</i> pie", "names": "Ann"}, {"title": "car", "names": ["Bob", "Cleo"]}] * 10
    vectoriser = Vectoriser(fields={"title": 4, "names": 1}, own_columns=["names"])
    model = KNN(n_neighbors=3).fit(
        vectoriser.fit_transform(documents), Corpus.from_texts([""] * 20, TAGS[2:4] * 10).tags
    )
    Tagger(vectoriser, model, ["fruit", "cars"]).save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.fields == ("names", "title")
    asked = ["a pear", {"title": "a <b>car</b>", "text": "unread"}, {"names": "ann"}, {"names": ["Cleo", "Bob"]}]
    assert [best[0].tag for best in loaded.suggest(asked, k=1)] == ["fruit", "cars", "fruit", "cars"]
    assert loaded.rows([{"title": "<b>", "names": "bob"}]).nnz == 1
    with pytest.raises(ValueError, match="text 0: there is no field 'name', expected some of names, text, title, url"):
        loaded.suggest([{"name": "Ann"}])
    # without named fields: title and text, one after the other
    assert tagger.fields == ("title", "text")
    assert tagger.suggest([{"title": "red", "text": "<p>car"}]) == tagger.suggest(["red car"])
    rows = [
        tagger.rows([text]).toarray().tolist() for text in ({"title": "red <car>", "text": "<p>"}, "red car", "red")
    ]
    assert rows[0] == rows[1] != rows[2]  # an element that a title speaks of is a word of it


@pytest.mark.parametrize(
    "params",
    [
        {"analyzer": "char_wb", "ngram_range": (2, 4), "fields": {"title": 2, "text": 1, "url": 1}},
        {"hashed_columns": 300, "ngram_range": (1, 2), "own_columns": ["url"], "fields": {"text": 1, "url": 1}},
    ],
    ids=["characters", "hashed"],
)
def test_every_kind_of_feature_is_stored_with_the_tagger(params, tmp_path):
    urls = [f"https://www.example.org/{tags[0]}/x.html" for tags in TAGS]
    documents = [{"text": text, "url": url} for text, url in zip(TEXTS, urls, strict=True)]
    vectoriser = Vectoriser(**params)
    X = vectoriser.fit_transform(documents)
    corpus = Corpus.from_texts(TEXTS, TAGS)
    Tagger(vectoriser, KNN(n_neighbors=5).fit(X, corpus.tags), corpus.tag_names).save(tmp_path / "tagger")
    stored = load_model(tmp_path / "tagger")
    assert [tags[0].tag for tags in stored.suggest(["aple and pear", {"url": "http://cars.org"}], k=1)] == [
        "fruit",
        "cars",
    ]
    assert np.array_equal(stored.vectoriser.transform(documents).toarray(), X.toarray())
