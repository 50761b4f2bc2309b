"""What every model must do, whichever it is: each class that tagcore registers goes through all of these."""

import json
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from numba.core.dispatcher import Dispatcher
from safetensors.numpy import load_file, save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from tagcore.base import from_parts, load_estimator, registered_models
from tagcore.features.rows import InMemory
from tagcore.numeric.read_only import freeze
from tagcore.shards import InProcess
from tagcore.tag_model import TagModel
from tests.problems import TOPICS, noisy, obvious, problems

EXEMPT = {
    "check_estimator_sparse_array": "wants predict_proba to have one column per class of a 1-d y; taggers have tags",
    "check_estimator_sparse_matrix": "the same, for matrices",
}
BLIND = {"Popular": "does not read the words"}
QUICK = {"Blend": {"n_folds": 1}}  # all else as a user gets it


def _constructible() -> dict[str, type[TagModel]]:
    models = {}
    for name, model in sorted(registered_models().items()):
        if model.__module__.startswith("tagcore.") and issubclass(model, TagModel):
            try:
                model()
            except TypeError:
                continue
            models[name] = model
    return models


EVERY = pytest.mark.parametrize("model", _constructible().values(), ids=_constructible())


def _made(model):
    return model(**QUICK.get(model.__name__, {}))


@cache
def _fit(model):
    """One fitted model for all tests that only ask it."""
    return _made(model).fit(*noisy())


def _frozen(matrix):
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


@EVERY
@pytest.mark.filterwarnings("ignore")
def test_passes_the_checks_of_scikit_learn(model):
    results = check_estimator(_made(model), on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert set(failed) == set(EXEMPT), failed
    assert len(results) > 30


@EVERY
def test_parameters_come_back_and_clone(model):
    fitted = _fit(model)
    assert clone(fitted).get_params() == fitted.get_params() == _made(model).get_params()
    with pytest.raises(NotFittedError):
        clone(fitted).top_k(noisy()[0], 1)


@pytest.mark.parametrize("model", [m for m in _constructible().values() if m.__name__ not in BLIND])
def test_recovers_the_obvious(model):
    X, Y = obvious()
    tags, scores = _made(model).fit(X, Y).top_k(X, 3)
    assert np.array_equal(tags[:, 0], np.arange(X.shape[0]) % TOPICS)
    assert (scores[:, 0] > scores[:, 1]).all()
    assert np.array_equal(_made(model).fit(X, Y).predict(X).toarray(), Y.toarray() > 0)


@EVERY
def test_probabilities_are_such_and_keep_the_order_of_scores(model):
    X, _ = noisy(seed=1)
    fitted = _fit(model)
    proba = fitted.predict_proba(X)
    scores = np.concatenate([block for _, block in fitted.score_blocks(X, cells=100)])
    assert proba.shape == scores.shape == (X.shape[0], fitted.n_labels_)
    assert proba.min() >= 0
    assert proba.max() <= 1
    assert (np.diff(np.take_along_axis(proba, np.argsort(scores, axis=1), axis=1)) >= 0).all()
    assert np.array_equal(fitted.predict(X).toarray(), proba > 0.5)


@EVERY
@pytest.mark.parametrize("k", [1, 5, 19, 1000])
def test_top_k_is_a_stable_argsort_of_the_scores(model, k):
    X, _ = noisy(seed=2)
    fitted = _fit(model)
    (rows, dense), *more = fitted.score_blocks(X)
    assert rows == slice(0, X.shape[0])
    assert not more
    wanted = np.argsort(-dense, axis=1, kind="stable")[:, :k]
    tags, scores = fitted.top_k(X, k)
    assert tags.dtype == np.int64
    assert scores.dtype == np.float64
    assert np.array_equal(tags, wanted)
    assert np.array_equal(scores, np.take_along_axis(dense, wanted, axis=1))


@EVERY
@settings(max_examples=25, deadline=None)
@given(problem=problems())
def test_odd_matrices_give_finite_scores_and_a_stable_order(model, problem):
    X, Y = problem
    if get_tags(_made(model)).input_tags.positive_only:
        X = abs(X)
    fitted = _made(model).fit(X, Y)
    ((_, dense),) = fitted.score_blocks(X)
    assert np.isfinite(dense).all()
    tags, _ = fitted.top_k(X, 3)
    assert np.array_equal(tags, np.argsort(-dense, axis=1, kind="stable")[:, :3])


@EVERY
def test_rows_without_words_and_data_without_tags(model):
    X, Y = noisy()
    nothing = sp.csr_matrix((3, X.shape[1]))
    tags, scores = _fit(model).top_k(nothing, 2)
    assert (tags == tags[0]).all()
    assert np.isfinite(scores).all()
    untagged = _made(model).fit(X, sp.csr_matrix(Y.shape))
    assert untagged.top_k(X, 2)[0].tolist() == [[0, 1]] * X.shape[0]
    assert untagged.predict(X).nnz == 0


@EVERY
def test_one_tag_only(model):
    X, Y = noisy()
    fitted = _made(model).fit(X, Y[:, :1])
    assert fitted.top_k(X, 5)[0].tolist() == [[0]] * X.shape[0]
    everywhere = _made(model).fit(X, np.ones((X.shape[0], 1)))
    assert everywhere.predict_proba(X).min() > 0.5


@EVERY
@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("X", np.nan, "X contains NaN"),
        ("X", np.inf, "X contains infinity"),
        ("y", np.nan, "y contains NaN"),
        ("y", np.inf, "y contains infinity"),
        ("y", -2.0, r"negative count -2\.0 in row 1, tag"),
    ],
)
def test_bad_values_are_named(model, part, value, message):
    data = dict(zip("Xy", noisy(), strict=True))
    data[part].data[data[part].indptr[1]] = value
    with pytest.raises(ValueError, match=message):
        _made(model).fit(**data)


@EVERY
def test_wrong_shapes_are_named(model):
    X, Y = noisy()
    with pytest.raises(ValueError, match="X has 150 rows, y has 149"):
        _made(model).fit(X, Y[:-1])
    with pytest.raises(ValueError, match=r"X has 39 features, but .* is expecting 40"):
        _made(model).fit(X, Y).top_k(X[:, :-1], 1)


@EVERY
def test_k_must_be_positive(model):
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        _fit(model).top_k(noisy()[0], 0)


@EVERY
def test_inputs_are_read_only(model):
    X, Y = (_frozen(part) for part in noisy())
    fitted = _made(model).fit(X, Y)
    free = _fit(model)
    assert np.array_equal(fitted.predict_proba(X), free.predict_proba(noisy()[0]))
    assert np.array_equal(fitted.top_k(X, 4)[0], free.top_k(noisy()[0], 4)[0])


def _kernels():
    modules = [module for name, module in sys.modules.items() if name.startswith("tagcore.")]
    every = (value for module in modules for value in vars(module).values())
    return {f"{value.__module__}.{value.__name__}": value for value in every if isinstance(value, Dispatcher)}


@EVERY
def test_a_stored_model_is_asked_with_the_kernels_that_were_compiled_for_the_fitted_one(model, tmp_path):
    fitted, X = _fit(model), noisy()[0]
    fitted.save(tmp_path / "model")
    for kernel in _kernels().values():
        kernel._reset_overloads()  # whatever other tests called them with
    fitted.top_k(X, 3), fitted.predict_proba(X)
    before = {name: len(kernel.overloads) for name, kernel in _kernels().items()}
    for rows in (X, _frozen(X.copy())):
        stored = (load_estimator(tmp_path / "model", mapped) for mapped in (False, True))
        for asked in (*stored, from_parts(freeze(fitted.parts()))):  # the last as workers get it
            asked.top_k(rows, 3), asked.predict_proba(rows)
    after = {name: len(kernel.overloads) for name, kernel in _kernels().items()}
    after.pop("tagcore.kernels.sparse.are_clean_rows")  # looks at rows before anything is made of them
    assert {name: n for name, n in after.items() if n != before[name]} == {}


@EVERY
def test_rows_may_hold_their_words_in_any_order_and_in_parts(model):
    X, Y = noisy()
    messy = sp.csr_matrix(X)
    for i in range(X.shape[0]):
        row = slice(messy.indptr[i], messy.indptr[i + 1])
        messy.indices[row], messy.data[row] = messy.indices[row][::-1].copy(), messy.data[row][::-1].copy()
    parts = sp.csr_matrix((np.repeat(messy.data / 2, 2), np.repeat(messy.indices, 2), 2 * messy.indptr), shape=X.shape)
    kept = parts.indices.copy()
    wanted, found = _fit(model).predict_proba(X), _made(model).fit(parts, Y).predict_proba(parts)
    np.testing.assert_allclose(found, wanted, atol=1e-3)
    assert np.array_equal(parts.indices, kept)


@EVERY
def test_threads_change_no_bit(model):
    one, two = (_made(model).fit(*noisy(), executor=InProcess(threads)) for threads in (1, 2))
    for name in model._arrays:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@EVERY
def test_fitting_again_forgets(model):
    fitted = _made(model).fit(*obvious()).fit(*noisy())
    assert np.array_equal(fitted.predict_proba(noisy()[0]), _fit(model).predict_proba(noisy()[0]))


@EVERY
def test_works_in_grid_search_and_cross_validate(model):
    X, Y = noisy()
    search = GridSearchCV(_made(model), {}, cv=3, error_score="raise").fit(X, Y)
    assert 0 <= search.best_score_ <= 1
    scores = cross_validate(_made(model), X, (Y > 0).toarray().astype(int), cv=3, error_score="raise")["test_score"]
    assert scores.shape == (3,)


@EVERY
def test_every_number_of_rounds_is_named_as_such(model):
    """so that a warm-up can be short."""
    assert set(model._rounds) <= set(_made(model).get_params())
    assert {"max_iter"} & set(_made(model).get_params()) <= set(model._rounds)


@EVERY
def test_observed_cells_are_taken_or_refused(model):
    X, Y = noisy()
    if model.__name__ in {"BCS", "BMLPL", "LEML"}:
        _made(model).fit(X, Y, observed=np.ones(Y.shape))
        return
    with pytest.raises(ValueError, match=f"{model.__name__} learns from all cells of y"):
        _made(model).fit(X, Y, observed=np.ones(Y.shape))


@EVERY
def test_rows_elsewhere_give_the_same_bits(model):
    X, Y = noisy()
    fitted, from_rows = _fit(model), _made(model).fit_rows(InMemory(X, Y.astype(np.float32)))
    for name in model._arrays:
        assert np.array_equal(getattr(fitted, name), getattr(from_rows, name)), name


@EVERY
def test_progress_ends_at_its_total(model):
    seen = []
    _made(model).fit(*noisy(), progress=lambda done, total, known: seen.append((done, total)))
    assert seen == sorted(seen)
    assert not seen or seen[-1][0] == seen[-1][1]


FRESH = """
import sys, pathlib, numpy as np, scipy.sparse as sp
from tagcore.base import load_estimator
root = pathlib.Path(sys.argv[1])
X = sp.load_npz(root / "X.npz")
for folder in sorted(root.iterdir()):
    if folder.is_dir():
        model = load_estimator(folder)
        np.savez(root / f"{folder.name}.npz", proba=model.predict_proba(X), tags=model.top_k(X, 4)[0])
"""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """every model stored here, its answers made by another process."""
    root = tmp_path_factory.mktemp("stored")
    X, _ = noisy(seed=3)
    sp.save_npz(root / "X.npz", X)
    for name, model in _constructible().items():
        _fit(model).save(root / name)
    subprocess.run([sys.executable, "-c", FRESH, root], check=True, timeout=600)
    return root


@EVERY
def test_a_fresh_process_gives_the_same_bits(model, fresh):
    X, _ = noisy(seed=3)
    found = np.load(fresh / f"{model.__name__}.npz", allow_pickle=False)
    assert np.array_equal(found["proba"], _fit(model).predict_proba(X))
    assert np.array_equal(found["tags"], _fit(model).top_k(X, 4)[0])


@EVERY
def test_a_damaged_folder_is_a_clear_error(model, tmp_path):
    _fit(model).save(tmp_path / "model")
    state, head = tmp_path / "model" / "state.safetensors", tmp_path / "model" / "model.json"
    whole, named = load_file(state), json.loads(head.read_text())

    save_file({**whole, "surprise": np.zeros(1)}, state)
    with pytest.raises(ValueError, match=r"state\.safetensors: holds arrays .*surprise"):
        load_estimator(tmp_path / "model")
    save_file(whole, state)
    state.write_bytes(state.read_bytes()[:-5])
    with pytest.raises(ValueError, match=r"state\.safetensors: cannot be read"):
        load_estimator(tmp_path / "model")
    save_file(whole, state)
    head.write_text(json.dumps({**named, "class": "os.system"}))
    with pytest.raises(ValueError, match=r"model\.json: unknown class 'os\.system'"):
        load_estimator(tmp_path / "model")
    head.write_text(json.dumps({**named, "params": {"colour": 1}}))
    with pytest.raises(ValueError, match=rf"not the parameters of {model.__name__}"):
        load_estimator(tmp_path / "model")


@EVERY
@pytest.mark.parametrize("harm", ["shorter", "longer", "huge", "negative", "not finite", "other type"])
def test_arrays_that_do_not_fit_together_never_reach_a_kernel(model, tmp_path, harm):
    _fit(model).save(tmp_path / "model")
    state = tmp_path / "model" / "state.safetensors"
    whole = load_file(state)
    for name, values in whole.items():
        if not values.size:
            continue
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


def test_the_wrong_class_is_a_clear_error(tmp_path):
    (first, stored), (second, other), *_ = _constructible().items()
    _fit(stored).save(tmp_path / "model")
    with pytest.raises(ValueError, match=f"holds a {first}, expected a {second}"):
        other.load(tmp_path / "model")
