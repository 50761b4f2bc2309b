"""A hierarchy of tags: conditional learning, joint probabilities, trees that are none."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import ndtr

from tagcore.base import load_estimator
from tagcore.models import BOMC
from tagcore.models.bomc.hierarchy import Siblings
from tests.problems import noisy

#        0        1
#      3   2      4
#      5
PARENTS = [-1, -1, 0, 0, 1, 3]


def test_groups_stand_side_by_side():
    tree = Siblings(PARENTS, 6)
    assert tree.order.tolist() == [0, 1, 2, 3, 4, 5]
    assert tree.starts.tolist() == [0, 2, 4, 5, 6]
    assert tree.tree[1].tolist() == [1, 2, -1, 3, -1, -1]
    assert [level.tolist() for level in tree.levels] == [[2, 3, 4], [5]]


def test_tags_bring_those_above_them():
    Y = sp.csr_matrix([[0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0]])
    wanted = [[1, 0, 0, 1, 0, 1], [1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0]]
    assert (Siblings(PARENTS, 6).with_ancestors(Y).toarray() > 0).astype(int).tolist() == wanted


def test_probabilities_multiply_along_the_path():
    z = np.random.default_rng(0).normal(size=(5, 6))
    p, joint = ndtr(z), ndtr(Siblings(PARENTS, 6).path_scores(z))
    np.testing.assert_allclose(joint[:, :2], p[:, :2])
    np.testing.assert_allclose(joint[:, 2], p[:, 2] * p[:, 0])
    np.testing.assert_allclose(joint[:, 5], p[:, 5] * p[:, 3] * p[:, 0])


def test_scores_of_certain_paths_do_not_saturate():
    z = np.full((2, 6), 12.0)
    z[1] = 20.0
    scores = Siblings(PARENTS, 6).path_scores(z)
    assert np.isfinite(scores).all()
    assert (scores[1] > scores[0]).all()


@pytest.mark.parametrize("parents", [[1, 0, -1], [0, -1, -1]])
def test_a_circle_is_no_tree(parents):
    with pytest.raises(ValueError, match="must form a tree"):
        Siblings(parents, 3)


def test_parents_out_of_range_are_named():
    with pytest.raises(ValueError, match="the parent of tag 1 is 7, expected -1 to 2"):
        Siblings([-1, 7, -1], 3)


@pytest.mark.parametrize("skew", ["running", "counted"])
def test_each_group_is_a_model_of_the_rows_that_have_its_parent(skew):
    X, Y = noisy(tags=6)
    Y = Siblings(PARENTS, 6).with_ancestors(Y)
    settings = {"shuffle": False, "skew": skew, "dtype": "float64"}
    whole = BOMC.published(parents=PARENTS, **settings).fit(X, Y)
    for tags, parent, hub in (([0, 1], None, 0), ([2, 3], 0, 1), ([4], 1, 2), ([5], 3, 4)):
        rows = np.arange(X.shape[0]) if parent is None else np.flatnonzero(Y[:, [parent]].toarray().ravel() > 0)
        alone = BOMC.published(**settings).fit(X[rows], Y[rows][:, tags])
        assert np.array_equal(whole.mean_[:, tags], alone.mean_)
        assert np.array_equal(whole.exposures_[tags], alone.exposures_)
        assert whole.bias_mean_[hub] == alone.bias_mean_[0]


@pytest.mark.parametrize("variant", ["coupled", "independent"])
def test_a_tree_is_stored_and_goes_on(variant, tmp_path):
    X, Y = noisy(tags=6)
    settings = {"variant": variant, "parents": PARENTS, "shuffle": False, "skew": "running"}
    whole = BOMC.published(**settings).fit(X, Y)
    BOMC.published(**settings).partial_fit(X[:60], Y[:60]).save(tmp_path / "model")
    went_on = load_estimator(tmp_path / "model").partial_fit(X[60:], Y[60:])
    assert np.array_equal(whole.mean_, went_on.mean_)
    assert np.array_equal(whole.predict_proba(X), went_on.predict_proba(X))
    proba = whole.predict_proba(X)
    for child, parent in enumerate(PARENTS):
        assert parent < 0 or (proba[:, child] <= proba[:, parent] + 1e-12).all()
    assert whole.expected_f(X).best().shape == (6,)


def test_a_tree_grows_below_an_old_tag_and_keeps_its_hubs():
    X, Y = noisy(tags=6)
    model = BOMC.published(parents=PARENTS, shuffle=False, skew="running", warm_start=True).fit(X, Y)
    hubs = model.bias_mean_.copy()
    model.set_params(parents=[*PARENTS, 2]).grow(X.shape[1], 7)
    assert np.array_equal(model.bias_mean_[:7], hubs)
    assert model.exposures_[6] == model.positives_[2]
    model.partial_fit(X, sp.hstack([Y, sp.csr_matrix((X.shape[0], 1))], format="csr"))
    assert model.predict_proba(X).shape == (X.shape[0], 7)
