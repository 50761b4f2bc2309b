"""The base of classifiers, and what every one of them must do: classes in and out, a folder that proves its bounds."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from safetensors.numpy import load_file, save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_info

from tagcore.base import MODELS, load_estimator, registered_models, require_array
from tagcore.class_model import ClassModel
from tagcore.shards import InProcess
from tagcore.tag_model import TagModel
from tagcore.training import Checkpoints, FitContext


class _NearestMean(ClassModel):
    """the class with the nearest mean; how near is how likely."""

    _arrays = ("means_",)

    def _fit(self, X, y, context):
        rows = X.toarray() if sp.issparse(X) else X
        self.means_ = np.array([rows[y == c].mean(axis=0) for c in range(y.max() + 1)])

    def _proba(self, X):
        rows = X.toarray() if sp.issparse(X) else X
        far = ((rows[:, None] - self.means_) ** 2).sum(axis=2)
        near = np.exp(far.min(axis=1, keepdims=True) - far)
        return near / near.sum(axis=1, keepdims=True)

    def _check_state(self):
        super()._check_state()
        require_array(self.means_, (len(self.class_labels_), self.n_features_in_), np.float64, "means")


class _Seen(_NearestMean):
    """keeps what the hook got."""

    def _fit(self, X, y, context):
        self.seen_ = X, y, context
        super()._fit(X, y, context)


CLASSIFIERS = {
    m.__name__: m for m in sorted(registered_models().values(), key=lambda m: m.__name__) if issubclass(m, ClassModel)
}
CLASSIFIERS = {"_NearestMean": _NearestMean} | {
    name: model for name, model in CLASSIFIERS.items() if model.__module__.startswith("tagcore.")
}
QUICK = {"search_steps": 0}  # scales as given: tests of the search stand with the models
EVERY = pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
EXEMPT: dict[str, dict[str, str]] = {}  # model -> check of scikit-learn -> why it cannot hold


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setitem(MODELS, "_NearestMean", _NearestMean)


def blobs(n=60, classes=("fig", "kiwi", "plum"), seed=0):
    """rows around the corners of a square, one corner for each class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % len(classes)
    corners = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [3.0, 3.0]])
    return corners[y] + rng.normal(scale=0.4, size=(n, 2)), np.array(classes)[y]


def _made(model):
    return model(**{name: value for name, value in QUICK.items() if name in model().get_params()})


def _fit(model, **kwargs):
    return _made(model).fit(*blobs(), **kwargs)


def test_the_base_is_no_model_itself():
    assert "ClassModel" not in MODELS


def test_the_hook_gets_checked_rows_class_numbers_and_what_fit_was_told(tmp_path):
    told = {"executor": InProcess(2), "progress": lambda *known: None, "checkpoints": Checkpoints(tmp_path, "x")}
    X, y = blobs()
    rows, numbers, context = _Seen().fit(np.asfortranarray(X, np.float32), y, **told).seen_
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    assert np.array_equal(numbers, np.arange(60) % 3)
    assert context == FitContext(**told)
    messy = sp.csr_matrix(([1.0, 2.0, 4.0], [1, 0, 1], [0, 3]), shape=(1, 2))
    rows, _, _ = _Seen().fit(messy, ["fig"]).seen_
    assert rows.toarray().tolist() == [[2.0, 5.0]]
    assert rows.has_canonical_format
    assert messy.nnz == 3


@EVERY
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_numbers_whose_squares_are_none_are_refused_by_row_and_column(model, form):
    X, y = blobs()
    X[4, 1] = 1e99
    _made(model).fit(form(X), y)
    X[4, 1] = -1e160
    message = r"row 4, column 1 of X is -1e\+160, expected -1e\+100 to 1e\+100"
    with pytest.raises(ValueError, match=message):
        _made(model).fit(form(X), y)
    with pytest.raises(ValueError, match=message):
        _fit(model).predict_proba(form(X))


def test_a_fit_that_fails_leaves_the_model_as_it_was(monkeypatch):
    fitted = _fit(_NearestMean)
    before = dict(vars(fitted))

    def interrupt(self, *args):
        self.means_ = None
        raise KeyboardInterrupt

    monkeypatch.setattr(_NearestMean, "_fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit([[1.0]], [1])
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit([[np.nan]], [1])
    assert vars(fitted) == before


def test_rows_are_scored_with_one_thread_of_blas(monkeypatch):
    """threads that wait for one another beside other work took seconds of the processor for two rows."""
    threads = []

    def count(self, X):
        threads.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return np.full((X.shape[0], 2), 0.5)

    model = _NearestMean().fit(np.eye(4), [0, 1, 0, 1])
    monkeypatch.setattr(_NearestMean, "_proba", count)
    model.predict(np.eye(4))
    assert set(threads) == {1}


def test_rows_are_scored_in_blocks(monkeypatch):
    fitted, X = _fit(_NearestMean), blobs()[0]
    whole, sizes = fitted.predict_proba(X), []
    monkeypatch.setattr("tagcore.class_model.block_rows", lambda cells: 7)

    def count(self, X, known=_NearestMean._proba):
        sizes.append(X.shape[0])
        return known(self, X)

    monkeypatch.setattr(_NearestMean, "_proba", count)
    assert np.array_equal(fitted.predict_proba(X), whole)
    assert max(sizes) == 7
    assert sum(sizes) == 60


@EVERY
@pytest.mark.filterwarnings("ignore")
def test_passes_the_checks_of_scikit_learn_for_classifiers(model):
    results = check_estimator(_made(model), on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert set(failed) == set(EXEMPT.get(model.__name__, {})), failed
    assert "check_classifiers_train" in {r["check_name"] for r in results}


@EVERY
@pytest.mark.parametrize("classes", [("fig", "kiwi", "plum"), (7, -1, 3), (2.0, 0.0, 9.0), (False, True)])
def test_classes_come_back_as_they_were(model, classes, tmp_path):
    X, y = blobs(classes=classes)
    fitted = _made(model).fit(X, y)
    fitted.save(tmp_path / "model")
    for one in (fitted, load_estimator(tmp_path / "model")):
        assert np.array_equal(one.classes_, np.unique(y))
        assert one.classes_.dtype.kind == y.dtype.kind
        assert np.array_equal(one.predict(X), y)
        assert one.score(X, y) == 1.0


@EVERY
def test_probabilities_add_up_and_the_likeliest_class_is_predicted(model):
    fitted, (X, _) = _fit(model), blobs(seed=1)
    proba = fitted.predict_proba(X)
    assert proba.shape == (60, 3)
    assert proba.min() >= 0
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    if type(fitted).predict is ClassModel.predict:  # a model may know better
        assert np.array_equal(fitted.predict(X), fitted.classes_[np.argmax(proba, axis=1)])


@EVERY
def test_sparse_rows_give_what_dense_ones_give(model):
    X, y = blobs()
    X[::7] = 0.0
    dense = _made(model).fit(X, y).predict_proba(X)
    sparse = _made(model).fit(sp.csr_matrix(X), y).predict_proba(sp.csr_matrix(X))
    np.testing.assert_allclose(sparse, dense, atol=1e-6)


@EVERY
def test_the_order_of_rows_and_the_names_of_classes_say_nothing(model):
    """renamed classes permute the columns."""
    X, y = blobs()
    renamed = pd.Series(y).map({"fig": "z", "kiwi": "a", "plum": "m"}).to_numpy()
    proba = _made(model).fit(X, renamed).predict_proba(X)
    np.testing.assert_allclose(proba[:, [2, 0, 1]], _fit(model).predict_proba(X), atol=1e-6)


@EVERY
def test_clones_and_nothing_works_before_fit(model):
    assert clone(_fit(model)).get_params() == _made(model).get_params()
    for call in (lambda m: m.predict([[0.0]]), lambda m: m.predict_proba([[0.0]]), lambda m: m.save("x")):
        with pytest.raises(NotFittedError):
            call(model())


@EVERY
def test_threads_and_repeats_change_no_bit(model):
    one, two = (_fit(model, executor=InProcess(threads)) for threads in (1, 2))
    for name in model._arrays:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@EVERY
def test_works_in_grid_search_and_cross_validate(model):
    X, y = blobs()
    assert GridSearchCV(_made(model), {}, cv=3, error_score="raise").fit(X, y).best_score_ == 1.0
    assert (cross_validate(_made(model), X, y, cv=3, error_score="raise")["test_score"] == 1.0).all()


@EVERY
def test_a_stored_classifier_comes_back(model, tmp_path):
    X, _ = blobs(seed=2)
    fitted = _fit(model)
    fitted.save(tmp_path / "model")
    for load in (load_estimator, ClassModel.load, model.load):
        back = load(tmp_path / "model")
        assert type(back) is model
        assert np.array_equal(back.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(ValueError, match=f"holds a {model.__name__}, expected a TagModel"):
        TagModel.load(tmp_path / "model")


LABELS = {
    "none": [],
    "twice": ["fig", "fig", "plum"],
    "mixed": ["fig", 1, "plum"],
    "more": ["a", "b", "c", "d"],
    "unordered": ["plum", "fig", "kiwi"],
    "no list": "fig",
    "not plain": [["fig"], ["kiwi"], ["plum"]],
}


@EVERY
def test_a_damaged_folder_is_refused(model, tmp_path):
    _fit(model).save(tmp_path / "model")
    state, head = tmp_path / "model" / "state.safetensors", tmp_path / "model" / "model.json"
    whole, named = load_file(state), json.loads(head.read_text())
    for name, values in whole.items():
        for harmed in (values[:-1], np.append(values, values[-1:], axis=0), values.astype(np.float32)):
            save_file({**whole, name: harmed}, state)
            with pytest.raises(ValueError, match="its arrays do not fit together"):
                load_estimator(tmp_path / "model")
        if values.dtype.kind == "f":
            harmed = values.copy()
            harmed.flat[-1] = np.nan
            save_file({**whole, name: harmed}, state)
            with pytest.raises(ValueError, match="its arrays do not fit together"):
                load_estimator(tmp_path / "model")
    save_file(whole, state)
    for facts in (
        {"n_features_in_": 3},
        {"n_features_in_": 0},
        *({"class_labels_": labels} for labels in LABELS.values()),
    ):
        head.write_text(json.dumps({**named, "facts": named["facts"] | facts}))
        with pytest.raises(ValueError, match="its arrays do not fit together"):
            load_estimator(tmp_path / "model")
