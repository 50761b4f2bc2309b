"""Named fields: weighed in one space, or with columns of their own; the same rows in any blocks, parts and forms."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from tagcore.text import Vectoriser
from tagcore.text.document_fields import document_blocks, struct_of, url_words
from tests.tagcore.text.peers import assert_same_rows
from tests.tagcore.text.strategies import texts

DOCUMENTS = [
    {"title": "Red apples", "text": "The apples of the red house are red", "comments": "nice, nice"},
    {"title": "Green pears", "text": "pears and the apples", "comments": ""},
    {"title": "", "text": "", "comments": "houses of apples"},
    {"text": "a house"},
]
SHORT = [{name: text for name, text in document.items() if name != "comments"} for document in DOCUMENTS]
WEIGHTS = {"title": 4, "text": 1, "comments": 0.5}


def columns(name: str) -> list[str]:
    return [document.get(name, "") for document in DOCUMENTS]


def weighed_counts(fields: dict[str, float], **params) -> tuple[list[str], sp.csr_matrix]:
    """What scikit-learn counts in each field, put together."""
    counter = CountVectorizer(**params).fit([text for name in fields for text in columns(name)])
    return list(counter.get_feature_names_out()), sum(w * counter.transform(columns(n)) for n, w in fields.items())


@pytest.mark.parametrize("params", [{}, {"ngram_range": (1, 2)}, {"stop_words": ["the", "of"], "ngram_range": (1, 2)}])
def test_a_field_counts_as_often_as_its_weight_says(params):
    names, expected = weighed_counts(WEIGHTS, **params)
    ours = Vectoriser(fields=WEIGHTS, use_idf=False, norm=None, dtype=np.float64, **params)
    assert_same_rows(ours.fit_transform(DOCUMENTS), expected)
    assert_same_rows(ours.transform(DOCUMENTS), expected)
    assert ours.terms_.tolist() == names


def test_weights_are_weighed_by_idf_and_norm():
    _, counts = weighed_counts(WEIGHTS)
    documents = [" ".join(document.values()) for document in DOCUMENTS]
    frequencies = TfidfTransformer().fit(CountVectorizer().fit_transform(documents))
    ours = Vectoriser(fields=WEIGHTS, dtype=np.float64).fit(DOCUMENTS)
    np.testing.assert_allclose(ours.idf_, frequencies.idf_)
    assert_same_rows(ours.transform(DOCUMENTS), frequencies.transform(counts))


def test_a_word_counts_once_with_its_largest_weight_where_only_presence_counts():
    ours = Vectoriser(fields={"title": 4, "text": 1}, use_idf=False, norm=None, binary=True).fit(SHORT)
    row = ours.transform(SHORT[:1]).toarray()[0]
    assert {term: row[column] for term, column in ours.vocabulary_.items() if row[column]} == {
        "red": 4, "apples": 4, "the": 1, "of": 1, "house": 1, "are": 1
    }  # fmt: skip


@pytest.mark.parametrize(
    "params", [{}, {"stem": "english"}, {"ngram_range": (1, 2)}, {"stop_words": ["the"], "stem": "english"}]
)
def test_columns_of_their_own_are_those_of_a_vectoriser_of_that_field_alone(params):
    both = Vectoriser(fields={"title": 2, "text": 1}, own_columns=["title"], norm=None, use_idf=False, **params)
    rows = both.fit_transform(SHORT)
    assert_same_rows(both.transform(SHORT), rows)
    own = np.array([term.startswith("title:") for term in both.terms_])
    for name, weight, chosen in (("title", 2, own), ("text", 1, ~own)):
        alone = Vectoriser(norm=None, use_idf=False, **params)
        expected = weight * alone.fit_transform(columns(name))
        assert [term.replace("title:", "") for term in both.terms_[chosen]] == alone.terms_.tolist()
        np.testing.assert_array_equal(rows[:, np.flatnonzero(chosen)].toarray(), expected.toarray())


FIELDS_OF = st.fixed_dictionaries({"title": texts, "text": texts, "comments": texts})


@given(st.lists(FIELDS_OF, min_size=1, max_size=8), st.integers(1, 8), st.booleans())
@settings(max_examples=60, deadline=None)
def test_parts_blocks_and_copies_give_the_same_bits(documents, cut, own):
    """counted in parts as workers do, made again of plain arrays, given as structs or as mappings."""
    params = {"fields": WEIGHTS, "own_columns": ["title"] if own else (), "ngram_range": (1, 2)}
    whole = Vectoriser(**params)
    try:
        expected = whole.fit_transform(documents)
    except ValueError as error:
        assert "empty vocabulary" in str(error)  # noqa: PT017
        return
    struct = struct_of({name: pa.array([d[name] for d in documents]) for name in WEIGHTS})
    parts = [struct[:cut], struct[cut:]]
    merged = Vectoriser(**params)
    merged.fit_frequencies([Vectoriser(**params).count_terms([part]) for part in parts])
    for other in (merged, Vectoriser(**params).fit_blocks(parts), Vectoriser.from_parts(whole.parts())):
        assert other.terms_.tolist() == whole.terms_.tolist()
        rows = sp.vstack([other.transform(part) for part in parts if len(part)], format="csr")
        assert rows.data.tobytes() == expected.data.tobytes()
        assert rows.indices.tolist() == expected.indices.tolist()


def test_the_order_of_fields_changes_no_bit():
    one, other = (Vectoriser(fields=dict(order)) for order in (WEIGHTS.items(), reversed(WEIGHTS.items())))
    assert one.fit_transform(DOCUMENTS).data.tobytes() == other.fit_transform(DOCUMENTS).data.tobytes()


def test_without_fields_a_document_is_its_title_and_text():
    documents = [{**document, "url": "https://example.org"} for document in SHORT]
    joined = [f"{document.get('title', '')}\n{document['text']}" for document in documents]
    ours = Vectoriser(ngram_range=(1, 2)).fit(documents)
    assert_same_rows(ours.transform(documents), Vectoriser(ngram_range=(1, 2)).fit_transform(joined))


def test_a_mere_text_is_taken_for_the_text():
    ours = Vectoriser(fields={"title": 4, "text": 1}, own_columns=["title"]).fit(SHORT)
    assert_same_rows(ours.transform(["the apples"]), ours.transform([{"text": "the apples"}]))
    media = Vectoriser(fields={"comments": 1, "names": 2}).fit([{"comments": "nice"}])
    assert media.transform(["nice one"]).nnz == 1
    assert media.transform(["nice", {"names": ["so", "nice"]}, None]).getnnz(axis=1).tolist() == [1, 1, 0]


def test_words_of_a_url():
    ours = Vectoriser(fields={"url": 1, "text": 1}, own_columns=["url"])
    ours.fit([{"url": "https://www.example.org/red-apples/pie_of%20pears?id=17", "text": "www"}])
    assert sorted(ours.vocabulary_) == [
        "url:17", "url:apples", "url:example", "url:id", "url:of", "url:org", "url:pears", "url:pie", "url:red", "www"
    ]  # fmt: skip
    assert url_words(pa.array(["www.a.org", "HTTP://www2.a.org", ""])).to_pylist() == ["www.a.org", "a.org", ""]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"fields": {}}, "fields={}: expected None or weights above 0"),
        ({"fields": {"title": 0}}, "weights above 0"),
        ({"fields": {"title": float("nan")}}, "weights above 0"),
        ({"fields": {"a:b": 1}}, "weights above 0"),
        ({"own_columns": ["title"]}, "has 'title': expected one of the fields, of which none are named"),
        (
            {"fields": {"text": 1}, "own_columns": ["title"]},
            "own_columns has 'title': expected one of the fields, text",
        ),
        ({"fields": {"text": 0.5}, "sublinear_tf": True}, "fields has the weight 0.5: expected 1 or more with"),
    ],
)
def test_fields_that_cannot_be(params, expected):
    with pytest.raises(ValueError, match=expected):
        Vectoriser(**params).fit(["a text"])


def test_one_document_is_no_list_of_them():
    for ask in (Vectoriser().fit, Vectoriser().fit_transform, Vectoriser().fit(["red"]).transform):
        with pytest.raises(ValueError, match=r"texts is the one document \{'title': 'red'\}, expected a list"):
            ask({"title": "red"})


def test_documents_that_cannot_be_read():
    ours = Vectoriser(fields={"title": 4, "text": 1}).fit(SHORT)
    with pytest.raises(ValueError, match="text 1: there is no field 'titel', expected some of text, title, url"):
        ours.transform([{"title": "a"}, {"titel": "cat"}])
    with pytest.raises(ValueError, match="text 0: title is 7, expected a string or a list of strings"):
        ours.transform([{"title": 7}])
    with pytest.raises(ValueError, match="documents without a field 'text'; they have title"):
        ours.transform(struct_of({"title": pa.array(["a"])}))
    assert len(next(document_blocks([], ("text",)))) == 0


def test_a_stored_vectoriser_reads_the_same_fields(tmp_path):
    ours = Vectoriser(fields=WEIGHTS, own_columns=["title"]).fit(DOCUMENTS)
    ours.save(tmp_path)
    loaded = Vectoriser.load(tmp_path)
    assert loaded.get_params() == ours.get_params() | {"own_columns": ("title",)}
    assert_same_rows(loaded.transform(DOCUMENTS), ours.transform(DOCUMENTS))


def test_a_vectoriser_stored_before_there_were_fields_still_loads(tmp_path):
    Vectoriser().fit(["a cat"]).save(tmp_path)
    head = tmp_path / "vectoriser.json"
    before = head.read_text().replace(',\n  "fields": null', "").replace(',\n  "own_columns": []', "")
    assert "fields" not in before
    head.write_text(before)
    assert Vectoriser.load(tmp_path).get_params() == Vectoriser().get_params()
