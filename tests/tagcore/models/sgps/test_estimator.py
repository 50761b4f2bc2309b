"""SGPS as scikit-learn sees it, as it is stored, and what it says of odd rows, its uncertainty and itself."""

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file, save_file

from tagcore.base import load_estimator
from tagcore.models import SGPS
from tagcore.models.sgps.basis import make_basis
from tagcore.models.sgps.mode import find_mode
from tagcore.models.sgps.rows import LabelledMatrix, Layout
from tagcore.shards import InProcess
from tagcore.synthetic.rings import rings
from tests.tagcore.models.sgps.problems import three_classes

X, Y = three_classes(80)
X_NEW = three_classes(40, seed=1)[0]
FIXED = {"search": "none", "length_scale": 1.3, "amplitude": 2.0, "scaling": "none", "tol": 1e-9, "random_state": 0}


def fixed(**settings):
    """a model whose parameters are set, so that nothing but what a test is about differs."""
    return SGPS(**{"n_prototypes": 10, "selector": "random"} | FIXED | settings)


def quick(**settings):
    return SGPS(**{"n_prototypes": 10, "search_iter": 2, "epochs": 2, "random_state": 0} | settings)


@pytest.mark.parametrize("method", ["mean", "mackay", "sample"])
@pytest.mark.parametrize("evidence", ["block", "exact"])
def test_probabilities_are_such(method, evidence):
    proba = fixed(evidence=evidence).fit(X, Y).predict_proba(X_NEW, method)
    assert proba.min() >= 0
    assert proba.max() <= 1
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("evidence", ["block", "exact"])
def test_draws_agree_with_mackay_and_with_other_seeds(evidence):
    model = fixed(evidence=evidence).fit(X, Y)
    drawn = model.predict_proba(X_NEW, "sample", n_samples=4000)
    assert (
        np.abs(drawn - fixed(evidence=evidence, random_state=0).fit(X, Y).predict_proba(X_NEW, "mackay")).mean() < 0.03
    )
    other = model.set_params(random_state=1).predict_proba(X_NEW, "sample", n_samples=4000)
    assert 0 < np.abs(drawn - other).max() < 3 / np.sqrt(4000)


def test_the_class_is_that_of_the_highest_mean_also_where_variances_order_probabilities_otherwise():
    """a class that is rare has the larger variance: its mean is shrunk most."""
    rare = (Y == 2) & (np.cumsum(Y == 2) > 2)
    model = fixed(amplitude=20.0, length_scale=10.0, n_prototypes=8).fit(X[~rare], Y[~rare])
    new = np.random.default_rng(0).uniform(-6, 6, (400, X.shape[1]))
    by_means, by_probabilities = (model.predict_proba(new, method).argmax(axis=1) for method in ("mean", "mackay"))
    assert (by_means != by_probabilities).any()
    assert np.array_equal(model.predict(new), model.classes_[by_means])


def test_a_draw_belongs_to_its_row():
    model = fixed().fit(X, Y)
    whole = model.predict_proba(X_NEW, "sample", n_samples=50)
    part = model.predict_proba(X_NEW[30:], "sample", n_samples=50, first_row=30)
    np.testing.assert_allclose(part, whole[30:], atol=1e-12)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"n_samples": 0}, "n_samples must be at least 1, got 0"),
        ({"n_samples": 10.0}, r"n_samples must be a whole number, got 10\.0"),
        ({"first_row": -1}, "first_row must be at least 0, got -1"),
    ],
)
def test_draws_that_cannot_be_are_refused(asked, message):
    model = fixed().fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict_proba(X_NEW, "sample", **asked)


@pytest.mark.parametrize("evidence", ["exact", "block"])
def test_far_from_all_rows_the_variance_is_that_of_the_prior(evidence):
    """prototypes say nothing there: what they leave open is all of it."""
    model = fixed(amplitude=2.0, length_scale=1.0, n_prototypes=8, evidence=evidence).fit(X, Y)
    np.testing.assert_allclose(model.predict_variance(np.full((1, X.shape[1]), 1e3)), 4.0, rtol=1e-6)


def test_variances_are_those_of_the_draws_and_grow_away_from_the_rows():
    exact, block = (fixed(evidence=kind).fit(X, Y) for kind in ("exact", "block"))
    assert (exact.predict_variance(X) < 4.0).all()  # the prior's
    assert block.predict_variance(X).shape == (80, 3)
    with pytest.raises(ValueError, match='no variance without evidence: fit with evidence="block" or "exact"'):
        fixed(evidence="none").fit(X, Y).predict_variance(X)
    assert fixed(evidence="none").fit(X, Y).log_evidence_ is None
    with pytest.raises(ValueError, match='method must be "mean", "mackay" or "sample"'):
        block.predict_proba(X, "best")


def test_rotation_translation_and_scale_change_nothing():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    wanted = fixed().fit(X, Y).predict_proba(X_NEW)
    np.testing.assert_allclose(fixed().fit(X @ turn + 5, Y).predict_proba(X_NEW @ turn + 5), wanted, atol=1e-8)
    scaled = fixed(length_scale=13.0).fit(10 * X, Y)
    np.testing.assert_allclose(scaled.predict_proba(10 * X_NEW), wanted, atol=1e-8)
    standard, moved = (fixed(scaling="standard").fit(X * by, Y) for by in (1.0, np.array([0.1, 7.0, 30.0])))
    np.testing.assert_allclose(
        moved.predict_proba(X_NEW * np.array([0.1, 7.0, 30.0])), standard.predict_proba(X_NEW), atol=1e-8
    )


@pytest.mark.parametrize("covariance", ["se", "nn"])
@pytest.mark.parametrize("length_scales", ["shared", "per_class", "ard"])
def test_dense_and_csr_rows_agree(covariance, length_scales):
    dense, csr = (
        quick(covariance=covariance, length_scales=length_scales, scaling="none", snap=True, tol=1e-9).fit(form(X), Y)
        for form in (np.asarray, sp.csr_matrix)
    )
    assert sp.issparse(csr.prototypes_)
    np.testing.assert_allclose(csr.prototypes_.toarray(), dense.prototypes_, atol=1e-12)
    np.testing.assert_allclose(csr.length_scale_, dense.length_scale_, rtol=1e-4)  # rounding, as the search has it
    same = csr.predict_proba(sp.csr_matrix(X_NEW))
    np.testing.assert_allclose(same, dense.predict_proba(X_NEW), atol=1e-4)
    assert dense.length_scale_.shape == ((3,) if length_scales == "ard" else (1,))
    assert (len(set(dense.amplitudes_)) == 3) == (length_scales == "per_class")


def test_dense_and_csr_rows_agree_to_the_last_digits_where_parameters_are_set():
    wanted = fixed().fit(X, Y).predict_proba(X_NEW)
    np.testing.assert_allclose(fixed().fit(sp.csr_matrix(X), Y).predict_proba(sp.csr_matrix(X_NEW)), wanted, atol=1e-10)


@pytest.mark.parametrize("selector", ["prototypes", "random", "infogain", "kmeans"])
def test_every_selector_learns_and_the_seed_decides(selector):
    model = quick(selector=selector, n_prototypes=12).fit(X, Y)
    assert model.score(X, Y) > 0.8
    assert model.prototypes_.shape == (12, 3)
    again = quick(selector=selector, n_prototypes=12).fit(X, Y, executor=InProcess(2))
    for name in SGPS._arrays:
        assert np.array_equal(getattr(model, name), getattr(again, name)), name


def test_stores_and_streams_agree_and_shards_are_worked_on_by_any_number_of_threads():
    rows, labels = three_classes(2500)
    store = fixed(mode="store", n_shards=2).fit(rows, labels)
    stream = fixed(mode="stream", n_shards=2).fit(rows, labels)
    np.testing.assert_allclose(stream.predict_proba(X_NEW), store.predict_proba(X_NEW), atol=1e-8)
    assert stream.log_evidence_ == pytest.approx(store.log_evidence_, abs=1e-6)
    threads = fixed(mode="stream", n_shards=2).fit(rows, labels, executor=InProcess(2))
    assert np.array_equal(threads.weights_, stream.weights_)
    assert fixed(memory=1000).fit(rows, labels).log_evidence_ == pytest.approx(store.log_evidence_, abs=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_what_was_asked_before_is_forgotten_with_a_new_fit(form):
    model = fixed(scaling="none", n_prototypes=10).fit(form(X), Y)
    before = model.predict_latent(form(X_NEW))
    other, labels = three_classes(80, seed=5)
    again = model.fit(form(other), labels).predict_latent(form(X_NEW))
    assert np.array_equal(
        again, fixed(scaling="none", n_prototypes=10).fit(form(other), labels).predict_latent(form(X_NEW))
    )
    assert not np.array_equal(again, before)
    one_by_one = np.vstack([model.predict_latent(form(row[None])) for row in X_NEW])
    np.testing.assert_allclose(one_by_one, again, rtol=1e-12, atol=1e-12)


def test_a_part_of_many_rows_is_searched():
    rows, labels = three_classes(2500)
    model = quick(search_iter=5, n_prototypes=40).fit(rows, labels)
    assert model.score(rows, labels) > 0.8
    assert not model.degenerate_


def test_the_grid_is_a_search_too():
    assert quick(search="grid", n_prototypes=4).fit(X[:25], Y[:25]).score(X, Y) > 0.6
    with pytest.raises(ValueError, match='search="grid" needs length_scales="shared"'):
        quick(search="grid", length_scales="ard").fit(X, Y)


def test_odd_classes():
    one = quick().fit(X, np.full(80, "only"))
    assert one.predict(X_NEW).tolist() == ["only"] * 40
    assert one.predict_proba(X_NEW).tolist() == [[1.0]] * 40
    lonely = np.where(np.arange(80) == 7, "rare", np.where(Y > 0, "high", "low"))
    model = quick().fit(X, lonely)
    assert model.classes_.tolist() == ["high", "low", "rare"]
    assert 2 in model.prototype_classes_
    assert np.isfinite(model.predict_proba(X_NEW)).all()
    nearly_all = fixed().fit(X, np.zeros(80, int) + (np.arange(80) == 0))
    assert (nearly_all.predict(X_NEW) == 0).all()


def test_prototypes_that_coincide_constant_columns_and_more_prototypes_than_rows():
    wanted = fixed(n_prototypes=80).fit(X, Y).predict_proba(X_NEW)
    twice = np.repeat(X, 2, axis=0)
    model = fixed(n_prototypes=160, jitter=1e-9).fit(twice, np.repeat(Y, 2))
    assert np.isfinite(model.predict_proba(X_NEW)).all()
    assert fixed(n_prototypes=10_000).fit(X, Y).prototypes_.shape == (80, 3)
    assert np.abs(fixed(n_prototypes=10_000).fit(X, Y).predict_proba(X_NEW) - wanted).max() < 1e-9
    constant = np.hstack([X, np.full((80, 1), 0.1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quick().fit(constant, Y).score(constant, Y) > 0.8
    assert np.isfinite(quick().fit(np.ones((30, 2)), Y[:30]).predict_proba(np.ones((1, 2)))).all()


def test_a_prototype_twice_changes_next_to_nothing():
    once = fixed(n_prototypes=80).fit(X, Y)
    basis = make_basis("se", np.asarray(1.3), np.vstack([X, X[:1]]), 1e-6)
    features = Layout(1).features(LabelledMatrix(X, Y), basis)
    U = find_mode(features, np.full(3, 2.0), np.zeros((81, 3)), tol=1e-9).arrays["U"]
    latents = basis.features(X_NEW) @ U * 2.0
    assert np.abs(latents - once.predict_latent(X_NEW)).max() < 1e-3


@settings(max_examples=20, deadline=None)
@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(2, 12), st.integers(1, 4)), elements=st.sampled_from([0.0, 1.0, -2.0])
    ),
    st.integers(1, 4),
    st.booleans(),
)
def test_odd_matrices_give_finite_probabilities(rows, n_classes, csr):
    labels = np.arange(len(rows)) % n_classes
    form = sp.csr_matrix if csr else np.asarray
    model = SGPS(search_iter=1, epochs=1).fit(form(rows), labels)
    assert np.isfinite(model.predict_proba(form(rows))).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"covariance": "rbf"}, 'covariance must be "se" or "nn"'),
        ({"n_prototypes": 0}, r"a share of the rows up to 1\.0, or None, got 0"),
        ({"n_prototypes": 2.5}, "n_prototypes must be a whole number from 1 to .* or a share of the rows"),
        ({"n_prototypes": 5.0}, r"or None, got 5\.0"),
        ({"n_prototypes": np.float64(5)}, "n_prototypes must be a whole number"),
        ({"length_scale": [1.0, 2.0, 3.0]}, 'several length scales need length_scales="ard"'),
        ({"length_scale": [1.0, -2.0, 3.0], "length_scales": "ard"}, "must be positive"),
        ({"length_scale": [1.0, 2.0], "length_scales": "ard"}, "length_scale has 2 numbers, X has 3 columns"),
        ({"window": 0.3}, "window must be at least 0 and at most 0.25"),
        ({"jitter": 0.0}, "jitter must be above 0 and at most 0.01"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        SGPS(**params).fit(X, Y)


def test_a_singular_covariance_names_its_length_scale():
    with pytest.raises(ValueError, match=r"singular at length scale nan, even with a jitter of 0\.01"):
        make_basis("se", np.asarray(np.nan), X[:4], 1e-6)


@pytest.mark.parametrize("evidence", ["block", "exact", "none"])
def test_a_stored_model_gives_the_same_bits(evidence, tmp_path):
    model = quick(evidence=evidence).fit(X, np.array(["a", "b", "c"])[Y])
    model.save(tmp_path / "model")
    again = load_estimator(tmp_path / "model")
    assert isinstance(again, SGPS)
    assert np.array_equal(again.predict_proba(X_NEW), model.predict_proba(X_NEW))
    assert again.predict(X_NEW).tolist() == model.predict(X_NEW).tolist()
    assert again.log_evidence_ == model.log_evidence_


@pytest.mark.parametrize("harm", ["shorter", "longer", "huge", "negative", "not finite", "other type"])
def test_arrays_that_do_not_fit_together_are_refused(tmp_path, harm):
    quick().fit(X, Y).save(tmp_path / "model")
    state = tmp_path / "model" / "state.safetensors"
    whole = load_file(state)
    for name, values in whole.items():
        harmed = values.copy()
        if harm == "shorter":
            harmed = harmed[:-1]
        elif harm == "longer":
            harmed = np.append(harmed, harmed[-1:] + 1)
        elif harm == "other type":
            harmed = harmed.astype(np.int64 if harmed.dtype.kind == "f" else np.float64)
        elif values.dtype.kind == "f":
            harmed[-1] = np.nan
        else:
            harmed[-1] = -1 if harm == "negative" else np.iinfo(harmed.dtype).max
        save_file({**whole, name: harmed}, state)
        with pytest.raises(ValueError, match="its arrays do not fit together"):
            load_estimator(tmp_path / "model")


@pytest.mark.parametrize(("fact", "value"), [("scaling_", "auto"), ("curvature_", "exact"), ("jitter_", -1.0)])
def test_facts_that_cannot_be_are_refused(tmp_path, fact, value):
    quick().fit(X, Y).save(tmp_path / "model")
    head = tmp_path / "model" / "model.json"
    named = json.loads(head.read_text())
    named["facts"][fact] = value
    head.write_text(json.dumps(named))
    with pytest.raises(ValueError, match="its arrays do not fit together"):
        load_estimator(tmp_path / "model")


def test_rings_need_a_length_scale_of_their_own_for_every_input():
    rows, labels = rings(300, seed=0)
    rows_new, labels_new = rings(2000, seed=1)
    model = SGPS(n_prototypes=40, length_scales="ard", search_iter=6, random_state=0).fit(rows, labels)
    assert model.score(rows_new, labels_new) > 0.97
    assert model.length_scale_[:2].max() * 5 < model.length_scale_[2:].min()


def test_a_tight_tolerance_is_reached_by_newton_from_where_the_ascent_led():
    rows, y = rings(3200, seed=1)
    rows, told = rows[:, :2], []
    near, exact = (fixed(n_prototypes=40, amplitude=20.0, tol=tol) for tol in (0.01, 1e-6))
    near.fit(rows, y)
    exact.fit(rows, y, progress=lambda *t: told.append(t))
    assert near.converged_
    assert exact.converged_
    assert {"cg_steps"} <= set(told[0][2])  # of the ascent before nothing is told
    assert len({done for done, *_ in told}) <= exact.n_iter_ + 1
    assert exact.n_iter_ < 8
    np.testing.assert_allclose(near.predict_proba(rows[:50]), exact.predict_proba(rows[:50]), atol=1e-2)
    assert near.log_evidence_ == pytest.approx(exact.log_evidence_, abs=0.1)
