"""Information of words about tags and classes against scikit-learn and against its definition, cell by cell."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics import mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from tagcore.baselines import KNN
from tagcore.kernels.text.selection import document_frequencies
from tagcore.text.selection import (
    SelectWords,
    class_counts,
    information_gain,
    mutual_information,
    mutual_information_of_counts,
)
from tests.problems import noisy, obvious

COUNTS = st.sampled_from([0.0, 0.0, 1.0, 2.0])


@st.composite
def presences(draw):
    """words and tags of a few documents: often a word or tag is everywhere or nowhere."""
    n, words, tags = draw(st.integers(1, 9)), draw(st.integers(1, 5)), draw(st.integers(1, 5))
    X, Y = (draw(hnp.arrays(np.float64, (n, width), elements=COUNTS)) for width in (words, tags))
    for matrix in (X, Y):
        matrix[:, draw(st.sets(st.integers(0, matrix.shape[1] - 1)).map(list))] = draw(COUNTS)
    return X, Y


def _gains_by_scikit_learn(X, Y, min_tag_df):
    tags = [t > 0 for t in Y.T if (t > 0).sum() >= min_tag_df]
    return [sum(mutual_info_score(word > 0, tag) for tag in tags) for word in X.T]


def _cells(X, Y):
    """Σ over the tags, and the two states of each, of P(e, t) log[P(e, t) / (P(e) P(t))]."""
    X, Y = (np.stack([m == 0, m > 0]).astype(float) for m in (X, Y))
    joint = np.einsum("eiw,tij->etwj", X, Y) / X.shape[1]
    apart = X.mean(axis=1)[:, None, :, None] * Y.mean(axis=1)[None, :, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(joint > 0, joint * np.log(joint / apart), 0.0).sum(axis=(0, 1, 3))


@given(problem=presences(), min_tag_df=st.integers(1, 4))
def test_information_gain_of_odd_matrices(problem, min_tag_df):
    X, Y = problem
    gains = information_gain(sp.csr_matrix(X), sp.csr_matrix(Y), min_tag_df)
    np.testing.assert_allclose(gains, _gains_by_scikit_learn(X, Y, min_tag_df), atol=1e-13)
    assert (gains >= 0).all()


@pytest.mark.parametrize("share", [0.02, 0.4, 0.9])
def test_information_gain_of_many_documents(share):
    rng = np.random.default_rng(0)
    topic = rng.random((3000, 1)) < 0.3
    X, Y = (rng.random((3000, width)) < share * np.where(topic, rng.random(width), 1.0) for width in (40, 300))
    gains = information_gain(sp.csr_matrix(X), sp.csr_matrix(Y), 1)
    np.testing.assert_allclose(gains, _cells(X, Y), rtol=1e-9)
    assert gains.min() > 0


def test_tags_on_too_few_documents_are_left_out():
    X, Y = noisy()
    df = np.diff(Y.tocsc().indptr)
    assert 0 < (df >= 20).sum() < df.size
    wanted = information_gain(X, Y[:, df >= 20], 1)
    np.testing.assert_allclose(information_gain(X, Y), wanted, rtol=1e-12)
    assert information_gain(X, Y, 1000).tolist() == [0.0] * X.shape[1]


@given(problem=presences(), data=st.data())
def test_mutual_information_equals_scikit_learn(problem, data):
    X, _ = problem
    labels = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(-2, 3)))
    information = mutual_information(sp.csr_matrix(X), labels)
    wanted = mutual_info_classif(X > 0, labels, discrete_features=True)
    np.testing.assert_allclose(information, wanted, atol=1e-13)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_array])
def test_one_hot_rows_are_labels(form):
    X, _ = noisy()
    labels = np.arange(X.shape[0]) ** 2 % 7
    assert np.array_equal(mutual_information(X, form(np.eye(9)[labels])), mutual_information(X, labels))
    assert np.array_equal(mutual_information(X, ["abcdefg"[k] for k in labels]), mutual_information(X, labels))


def test_two_classes_are_a_tag_and_its_absence():
    X, Y = noisy()
    carried = Y[:, [0]].toarray() > 0
    np.testing.assert_allclose(information_gain(X, carried, 1), mutual_information(X, carried.ravel()), atol=1e-13)


def test_counts_of_blocks_add_up():
    X, _ = noisy()
    labels = np.random.default_rng(0).integers(0, 4, X.shape[0])
    blocks = [slice(0, 50), slice(50, 51), slice(51, 150)]
    counts = sum((class_counts(X[rows], labels[rows], 4) for rows in blocks), sp.csr_matrix((4, X.shape[1])))
    sizes = sum(np.bincount(labels[rows], minlength=4) for rows in blocks)
    assert np.array_equal(mutual_information_of_counts(counts, sizes), mutual_information(X, labels))


def test_gains_of_some_words_are_those_of_all():
    X, Y = noisy()
    parts = [information_gain(X[:, columns], Y) for columns in (slice(0, 13), slice(13, 40))]
    assert np.array_equal(np.concatenate(parts), information_gain(X, Y))


@given(problem=presences(), seed=st.integers(0, 3))
def test_documents_may_come_in_any_order(problem, seed):
    X, Y = map(sp.csr_matrix, problem)
    order = np.random.default_rng(seed).permutation(X.shape[0])
    np.testing.assert_allclose(information_gain(X[order], Y[order], 1), information_gain(X, Y, 1), atol=1e-13)


def test_values_do_not_matter_and_stored_zeros_are_absent():
    X, Y = noisy()
    scaled, zeros = X.copy(), X.copy()
    scaled.data *= np.linspace(0.1, 9, X.nnz)
    zeros.data[::3] = 0.0
    assert np.array_equal(information_gain(scaled, Y), information_gain(X, Y))
    dropped = zeros.copy()
    dropped.eliminate_zeros()
    assert dropped.nnz < zeros.nnz
    assert np.array_equal(information_gain(zeros, Y), information_gain(dropped, Y))
    labels = np.arange(X.shape[0]) % 3
    assert np.array_equal(mutual_information(zeros, labels), mutual_information(dropped, labels))


def test_columns_in_parts_count_once():
    X, Y = noisy()
    parts = sp.csr_matrix((np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    kept = parts.indices.copy()
    assert np.array_equal(information_gain(parts, Y), information_gain(X, Y))
    assert np.array_equal(parts.indices, kept)


def test_read_only_arrays_and_wide_indices():
    X, Y = noisy()
    wanted = information_gain(X, Y)
    for matrix in (X, Y):
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
    assert np.array_equal(information_gain(X, Y), wanted)


def test_no_documents_tell_nothing():
    nothing = sp.csr_matrix((0, 3))
    assert information_gain(nothing, nothing).tolist() == [0.0] * 3
    assert mutual_information(nothing, []).tolist() == [0.0] * 3
    assert document_frequencies(nothing.data, nothing.indices, 3).tolist() == [0] * 3


def test_wrong_shapes_and_labels_are_named():
    X, Y = noisy()
    with pytest.raises(ValueError, match="X has 150 rows, y has 149"):
        information_gain(X, Y[:-1])
    with pytest.raises(ValueError, match="X has 150 rows, y has 2"):
        mutual_information(X, [0, 1])
    with pytest.raises(ValueError, match="row 1 of y has 2 classes, expected exactly one"):
        mutual_information(X[:2], [[1, 0, 0], [1, 0, 1]])
    with pytest.raises(ValueError, match="row 0 of y has 0 classes"):
        mutual_information(X[:2], [[0, 0], [1, 0]])
    with pytest.raises(ValueError, match="classes run from -1 to 4, expected 0 to 3"):
        class_counts(X[:2], [-1, 4], 4)


@pytest.mark.parametrize(("keep", "kept"), [(1, 1), (7, 7), (1000, 40), (0.05, 2), (0.001, 1), (1.0, 40)])
@pytest.mark.parametrize("measure", ["information_gain", "mutual_information"])
def test_the_selector_keeps_the_best_words(measure, keep, kept):
    X, Y = noisy()
    y = Y if measure == "information_gain" else np.arange(X.shape[0]) % 3
    selector = SelectWords(measure, keep).fit(X, y)
    support = selector.get_support()
    assert support.sum() == kept
    assert selector.scores_[support].min() >= selector.scores_[~support].max(initial=0.0)
    assert np.array_equal(selector.transform(X).toarray(), X[:, support].toarray())


def test_ties_go_to_the_lower_column():
    X = np.tile([[1.0], [0.0]], (30, 5))
    assert SelectWords(keep=2).fit(X, X[:, :1]).get_support(indices=True).tolist() == [0, 1]


def test_words_of_topics_beat_words_of_none():
    X, Y = obvious()
    noise = sp.csr_matrix(np.random.default_rng(0).random((X.shape[0], 50)) < 0.5, dtype=float)
    selector = SelectWords(keep=X.shape[1], min_tag_df=20).fit(sp.hstack([noise, X]), Y)
    assert selector.get_support(indices=True).tolist() == list(range(50, 50 + X.shape[1]))


def test_works_inside_a_pipeline():
    X, Y = obvious()
    model = make_pipeline(SelectWords(keep=22), KNN(n_neighbors=3)).fit(X, Y)
    assert model.score(X, Y) == 1.0


@pytest.mark.filterwarnings("ignore")
def test_passes_the_checks_of_scikit_learn():
    results = check_estimator(SelectWords("mutual_information"), on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed, failed
    assert len(results) > 30


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"keep": 0}, "keep must be an integer of at least 1 or a share above 0 up to 1, got 0"),
        ({"keep": 1.5}, r"got 1\.5"),
        ({"keep": True}, "got True"),
        ({"keep": float("nan")}, "got nan"),
        ({"keep": "half"}, "got 'half'"),
        ({"measure": "chi2"}, 'must be "information_gain" or "mutual_information", got \'chi2\''),
        ({"min_tag_df": 0}, "min_tag_df must be an integer of at least 1, got 0"),
        ({"min_tag_df": 151}, "no tag is on 151 documents or more"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        SelectWords(**params).fit(*noisy())
