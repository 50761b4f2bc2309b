"""The category of a document and the shares of its tags, by hand and against the rule written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagcore.models.mmsg.categories import choose_categories, tag_shares

COUNTS = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 9), st.integers(1, 5)), elements=st.sampled_from([0.0, 0.0, 1.0, 2.0])
).filter(np.any)


def by_the_rule(Y, most, min_docs):
    """(document, tag) of every document with a category, as the specification tells it."""
    total = Y.sum(axis=0)
    common = sorted(range(len(total)), key=lambda t: (-total[t], t))[:most]

    def foremost(allowed):
        ranked = {
            i: sorted((t for t in allowed if row[t] > 0), key=lambda t: (-row[t], -total[t], t))
            for i, row in enumerate(Y)
        }
        return {i: tags[0] for i, tags in ranked.items() if tags}

    first = foremost(common)
    large = [t for t in common if list(first.values()).count(t) >= min_docs]
    return foremost(large) if large else first


@given(COUNTS, st.sampled_from([None, 1, 3]), st.integers(1, 4))
def test_categories_follow_the_rule(Y, most, min_docs):
    found = choose_categories(sp.csr_matrix(Y), most, min_docs)
    wanted = by_the_rule(Y, most, min_docs)
    assert dict(zip(found.documents.tolist(), found.tags[found.of_document].tolist(), strict=True)) == wanted
    assert (np.diff(found.tags) > 0).all()


def test_counts_decide_then_the_commoner_tag_then_the_lower_id():
    Y = sp.csr_matrix(np.array([[3.0, 4.0, 0], [1, 1, 0], [0, 2, 2], [0, 0, 1], [0, 0, 5]]))
    found = choose_categories(Y, None, 1)
    assert found.tags[found.of_document].tolist() == [1, 1, 2, 2, 2]


def test_small_categories_hand_their_documents_on():
    Y = sp.csr_matrix(np.array([[5.0, 1, 0], [0, 2, 0], [0, 1, 0], [0, 0, 3], [0, 1, 0]]))
    found = choose_categories(Y, None, 2)
    assert found.tags.tolist() == [1]
    assert found.documents.tolist() == [0, 1, 2, 4]  # the third has no other tag


def test_a_document_parts_one_vote_among_its_tags():
    Y = sp.csr_matrix(np.array([[5.0, 4.0, 3.0]]))
    shares = tag_shares(Y, choose_categories(Y, None, 1), "documents").toarray()
    np.testing.assert_allclose(shares, [[5 / 12, 4 / 12, 3 / 12]])


@given(COUNTS, st.sampled_from(["documents", "counts"]))
def test_shares_are_means_over_the_documents_of_a_category(Y, weights):
    categories = choose_categories(sp.csr_matrix(Y), None, 1)
    shares = tag_shares(sp.csr_matrix(Y), categories, weights).toarray()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for c in range(categories.tags.size):
        own = Y[categories.documents[categories.of_document == c]]
        votes = own / own.sum(axis=1, keepdims=True) if weights == "documents" else own
        np.testing.assert_allclose(shares[c], votes.sum(axis=0) / votes.sum())


def test_one_category_is_the_distribution_of_all_tags():
    Y = sp.csr_matrix(np.array([[2.0, 1, 0], [2, 0, 1], [3, 0, 0]]))
    categories = choose_categories(Y, None, 1)
    assert categories.tags.tolist() == [0]
    found = tag_shares(Y, categories, "counts").toarray()[0]
    assert found.tolist() == pytest.approx([7 / 9, 1 / 9, 1 / 9])
