"""Members that read columns of their own: each is the model that its columns alone would make."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.features.rows import InMemory
from tagcore.features.side_by_side import SideBySide
from tagcore.kept_fits import KeptFits
from tagcore.models import Blend
from tagcore.models.blend.guard import THE_BLEND
from tagcore.tag_model import TagModel
from tests.problems import nearly_linear, noisy

WORDS = 50
MEMBERS = [{"model": "OneVsRestLinear", "columns": [0, WORDS]}, {"model": "KNN", "columns": [WORDS, 80]}]


@pytest.fixture(scope="module")
def rows() -> tuple[sp.csr_matrix, sp.csr_matrix]:
    return nearly_linear(n=400, words=80, tags=6)


@pytest.fixture(scope="module")
def blend(rows) -> Blend:
    return Blend(MEMBERS).fit(*rows)


def test_each_member_is_the_model_of_its_columns(rows, blend):
    X, Y = rows
    alone = OneVsRestLinear().fit(X[:, :WORDS], Y), KNN().fit(X[:, WORDS:], Y)
    for member, model, columns in zip(blend._served().members, alone, (slice(0, WORDS), slice(WORDS, 80)), strict=True):
        assert np.array_equal(member.scores(X), model._scores(sp.csr_matrix(X[:, columns])))
        assert member.model.n_features_in_ == model.n_features_in_
    moved = X.copy()
    moved.data[moved.indices >= WORDS] *= 2  # what only neighbours read
    linear, neighbours = blend._served().members
    assert np.array_equal(linear.scores(moved), linear.scores(X))
    assert blend.voices(X[0], 0)[1].score == neighbours.scores(X[:1])[0, 0]


def test_rows_side_by_side_give_the_same_bits(rows, blend):
    X, Y = rows
    views = SideBySide((InMemory(X[:, :WORDS], Y), InMemory(X[:, WORDS:], Y)))
    again = Blend(MEMBERS).fit_rows(views)
    assert {name: np.asarray(getattr(again, name)).tobytes() for name in again._all_arrays()} == {
        name: np.asarray(getattr(blend, name)).tobytes() for name in blend._all_arrays()
    }


def test_a_stored_one_answers_the_same(rows, blend, tmp_path):
    X, _ = rows
    blend.save(tmp_path / "blend")
    loaded = TagModel.load(tmp_path / "blend")
    for got, expected in zip(loaded.top_k(X, 3), blend.top_k(X, 3), strict=True):
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("serving", [THE_BLEND, 0, 1])
def test_the_best_few_are_those_of_all_scores(rows, blend, serving):
    X, _ = rows
    blend.serving_, before = serving, blend.serving_
    try:
        scores, (tags, best) = blend._scores(X), blend.top_k(X, 2)
    finally:
        blend.serving_ = before
    assert np.array_equal(tags, np.argsort(-scores, axis=1, kind="stable")[:, :2])
    assert np.array_equal(best, np.take_along_axis(scores, tags, axis=1))


def test_words_of_an_explanation_are_columns_of_all(rows):
    X, Y = rows
    blend = Blend([{"model": "KNN", "columns": [0, WORDS]}, {"model": "BOMC", "columns": [WORDS, 80]}]).fit(X, Y)
    blend.serving_ = 1
    told = blend.explain(X[3], 2)
    assert told is not None
    assert set(told.words) == {column for column in X[3].indices if column >= WORDS}


def test_fits_are_shared_with_those_who_read_one_view_alone(rows, tmp_path):
    X, Y = rows
    folders = tmp_path / "first", tmp_path / "second"
    kept = KeptFits(folders, least_seconds=0.0)
    views = SideBySide((InMemory(X[:, :WORDS], Y), InMemory(X[:, WORDS:], Y)))
    for number, view in enumerate(views.views):
        OneVsRestLinear(random_state=0).fit_without(None, view, _context(KeptFits((folders[number],), 0.0)))
    assert [len(list(folder.iterdir())) for folder in folders] == [1, 1]
    blend = Blend([MEMBERS[0], {"model": "OneVsRestLinear", "columns": [WORDS, 80]}, "OneVsRestLinear"], n_folds=1)
    blend.fit_rows(views, kept=kept)
    assert [len(list(folder.iterdir())) for folder in folders] == [1, 1]  # members take what stands and keep nothing
    for member, part in zip(blend._served().members, (X[:, :WORDS], X[:, WORDS:], X), strict=True):
        alone = OneVsRestLinear().fit(part, Y)
        assert np.array_equal(member.scores(X), alone._scores(sp.csr_matrix(part)))


def _context(kept):
    from tagcore.shards import InProcess
    from tagcore.training import FitContext

    return FitContext(InProcess(), lambda *told: None, None, kept)


@pytest.mark.parametrize("columns", [[3, 3], [5, 2], [-1, 4], [0], "02", [0.0, 4], 7, [0, True]])
def test_columns_that_are_none_are_refused(columns):
    with pytest.raises(ValueError, match=r"columns of KNN are .* expected \[start, stop\]"):
        Blend([{"model": "KNN", "columns": columns}]).fit(*noisy())


def test_columns_that_the_rows_do_not_have_are_refused(blend):
    with pytest.raises(ValueError, match="columns 10:41, the rows have 40"):
        Blend([{"model": "KNN", "columns": [10, 41]}]).fit(*noisy())


def test_a_stored_state_must_have_the_columns_of_its_members(rows, blend):
    altered = Blend([MEMBERS[0], {"model": "KNN", "columns": [60, 90]}])
    for name in (*blend._all_arrays(), *blend._all_facts()):
        setattr(altered, name, getattr(blend, name))
    with pytest.raises(ValueError, match="member KNN reads columns 60:90 of 80"):
        altered._check_state()
