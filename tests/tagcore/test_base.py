"""The estimator base: the best few of many scores, one hook for fitting, models that come back from disk."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file, save_file
from sklearn.exceptions import NotFittedError

from tagcore.base import MODELS, best_k, load_estimator
from tagcore.features.rows import InMemory, load_all
from tagcore.shards import InProcess
from tagcore.tag_model import TagModel
from tagcore.training import Checkpoints, FitContext


class _Votes(TagModel):
    """every word votes for the tags it was seen with."""

    _arrays = ("votes_",)
    _facts = ("n_seen_",)

    def __init__(self, boost=1.0, random_state=None):
        self.boost = boost
        self.random_state = random_state

    def _fit(self, rows, context):
        self.votes_ = None
        X, Y = load_all(rows)
        context.progress(1, 1, {})
        self.votes_ = self.boost * (X.T @ Y).toarray()
        self.n_seen_ = int(X.shape[0])

    def _check_state(self):
        pass

    def _scores(self, X):
        return X @ self.votes_

    def proba(self, scores):
        return scores / (1.0 + scores)


class _Other(TagModel):
    """another class in the same folder."""


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(MODELS, "_Votes", _Votes)
    monkeypatch.setitem(MODELS, "_Other", _Other)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.poisson(0.5, (40, 12)).astype(float))
    y = sp.csr_matrix(rng.poisson(0.3, (40, 7)))
    return X, y


@pytest.fixture
def stored(tmp_path, problem):
    _Votes(boost=0.5).fit(*problem).save(tmp_path / "model")
    return tmp_path / "model"


def by_sorting(scores, k):
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


@given(
    scores=hnp.arrays(
        st.sampled_from([np.float64, np.float32]),
        st.tuples(st.integers(0, 4), st.integers(1, 90)),
        elements=st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 0.25, 1.0, np.inf]),
    ),
    k=st.integers(1, 100),
)
@settings(deadline=None, max_examples=200)
def test_best_k_is_a_stable_sort(scores, k):
    tags, values = best_k(scores, k)
    expected_tags, expected_values = by_sorting(scores, k)
    assert (tags.dtype, values.dtype) == (np.int64, np.float64)
    np.testing.assert_array_equal(tags, expected_tags)
    np.testing.assert_array_equal(values, expected_values)


def test_best_k_reads_any_layout():
    scores = np.random.default_rng(0).random((6, 20))
    for view in (np.asfortranarray(scores), scores[:, ::2], scores[::-1]):
        np.testing.assert_array_equal(best_k(view, 3)[0], by_sorting(view, 3)[0])
    scores.setflags(write=False)
    np.testing.assert_array_equal(best_k(scores, 3)[0], by_sorting(scores, 3)[0])


def test_top_k_agrees_with_all_scores(problem):
    X, y = problem
    model = _Votes().fit(X, y)
    for k in (1, 3, 7, 50):
        tags, scores = model.top_k(X, k)
        expected = by_sorting(model._scores(X), k)
        np.testing.assert_array_equal(tags, expected[0])
        np.testing.assert_array_equal(scores, expected[1])
        assert tags.shape == (40, min(k, 7))


@pytest.mark.parametrize("k", [0, -1])
def test_top_k_of_none(problem, k):
    with pytest.raises(ValueError, match=f"k must be at least 1, got {k}"):
        _Votes().fit(*problem).top_k(problem[0], k)


def test_score_blocks_are_the_scores_and_can_be_read_twice(problem):
    X, y = problem
    model = _Votes().fit(X, y)
    for _ in range(2):
        blocks = list(model.score_blocks(X, cells=7 * 3))
        assert [rows.stop - rows.start for rows, _ in blocks] == [3] * 13 + [1]
        np.testing.assert_array_equal(np.vstack([s for _, s in blocks]), model._scores(X))
    assert len(list(model.score_blocks(X, cells=1))) == 40


def test_predictions_follow_the_probabilities(problem):
    X, y = problem
    model = _Votes().fit(X, y)
    probabilities = model.predict_proba(X)
    predicted = model.predict(X)
    assert (predicted.format, predicted.dtype) == ("csr", np.int8)
    np.testing.assert_array_equal(predicted.toarray(), probabilities > 0.5)


def test_score_is_precision_at_one(problem):
    X, y = problem
    model = _Votes().fit(X, y)
    best = model._scores(X).argmax(axis=1)
    assert model.score(X, y) == np.mean(y.toarray()[np.arange(40), best] > 0)
    assert model.score(X, y.toarray()) == model.score(X, y)
    with pytest.raises(ValueError, match="y has 6 tags, the model 7"):
        model.score(X, y[:, :6])


def test_not_fitted(problem):
    for call in (lambda m: m.predict(problem[0]), lambda m: m.top_k(problem[0]), lambda m: m.save("nowhere")):
        with pytest.raises(NotFittedError):
            call(_Votes())


def test_nothing_of_a_run_stays_on_the_model(problem):
    model = _Votes().fit(*problem, executor=InProcess(2), progress=lambda *known: None)
    assert set(vars(model)) == {"boost", "random_state", "votes_", "n_seen_", "n_features_in_", "n_labels_"}


@pytest.fixture
def hooked(monkeypatch):
    """(the model as the hook met it, the rows, the context) of every fit."""
    seen, hook = [], _Votes._fit

    def record(self, rows, context):
        seen.append((dict(vars(self)), rows, context))
        hook(self, rows, context)

    monkeypatch.setattr(_Votes, "_fit", record)
    return seen


def test_fit_and_fit_rows_go_through_one_hook_with_what_they_were_told(problem, hooked, tmp_path):
    told = {"executor": InProcess(2), "progress": lambda *known: None}
    checkpoints = Checkpoints(tmp_path, "votes")
    rows = InMemory(*problem)
    fitted, from_rows = _Votes().fit(*problem, **told), _Votes().fit_rows(rows, **told, checkpoints=checkpoints)
    np.testing.assert_array_equal(fitted.votes_, from_rows.votes_)
    (_, _, first), (_, same, second) = hooked
    assert first == FitContext(**told)
    assert second == FitContext(**told, checkpoints=checkpoints)
    assert same is rows


def test_the_hook_still_sees_what_was_known(problem, hooked):
    X, y = problem
    model = _Votes().fit(X, y).fit(X[:, :5], y[:, :3])
    assert "n_labels_" not in hooked[0][0]
    assert (hooked[1][0]["n_features_in_"], hooked[1][0]["n_labels_"]) == (12, 7)
    assert (model.n_features_in_, model.n_labels_) == (5, 3)


def fit_rows(model, X, y):
    return model.fit_rows(InMemory(X, y))


@pytest.mark.parametrize("fit", [_Votes.fit, fit_rows])
def test_a_fit_that_fails_leaves_the_model_as_it_was(problem, fit, monkeypatch):
    X, y = problem
    model = _Votes().fit(X, y)
    before = dict(vars(model))

    def interrupt(rows):
        raise KeyboardInterrupt

    monkeypatch.setattr("tests.tagcore.test_base.load_all", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit(model, X[:, :5], y[:, :3])
    assert vars(model) == before
    fresh = _Votes()
    with pytest.raises(KeyboardInterrupt):
        fit(fresh, X, y)
    assert set(vars(fresh)) == {"boost", "random_state"}


def test_data_that_is_refused_leaves_the_model_as_it_was(problem):
    X, y = problem
    model = _Votes().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="X has 40 rows, y has 39"):
        model.fit(X[:, :5], y[:-1])
    assert vars(model) == before


def test_rows_have_no_names_of_columns(problem):
    pandas = pytest.importorskip("pandas")
    X, y = problem
    named = pandas.DataFrame(X.toarray(), columns=[f"word{i}" for i in range(12)])
    model = _Votes().fit(named, y)
    assert model.feature_names_in_.tolist() == list(named.columns)
    assert not hasattr(model.fit_rows(InMemory(X, y)), "feature_names_in_")


def test_observed_is_refused_by_a_model_that_cannot_use_it(problem):
    X, y = problem
    model = _Votes()
    with pytest.raises(ValueError, match="_Votes learns from all cells of y"):
        model.fit(X, y, observed=np.ones(y.shape))
    with pytest.raises(ValueError, match="_Votes learns from all cells of y"):
        model.fit_rows(InMemory(X, y), observed=np.ones(y.shape))
    assert not hasattr(model, "n_labels_")


def test_a_stored_model_comes_back(stored, problem):
    fitted = _Votes(boost=0.5).fit(*problem)
    for load in (load_estimator, _Votes.load, TagModel.load):
        model = load(stored)
        assert type(model) is _Votes
        assert model.get_params() == fitted.get_params()
        assert (model.n_labels_, model.n_features_in_, model.n_seen_) == (7, 12, 40)
        np.testing.assert_array_equal(model.predict_proba(problem[0]), fitted.predict_proba(problem[0]))


def test_saving_again_keeps_what_stands(stored, problem):
    before = {p.name: p.read_bytes() for p in stored.iterdir()}
    with pytest.raises(FileExistsError):
        _Votes(boost=3.0).fit(*problem).save(stored)
    assert {p.name: p.read_bytes() for p in stored.iterdir()} == before


def test_same_model_same_bytes(stored, problem):
    _Votes(boost=0.5).fit(*problem).save(stored.parent / "again")
    for path in stored.iterdir():
        assert path.read_bytes() == (stored.parent / "again" / path.name).read_bytes()


def test_parameters_that_are_no_data_are_refused(tmp_path, problem):
    model = _Votes(random_state=np.random.RandomState(0)).fit(*problem)
    with pytest.raises(ValueError, match="_Votes cannot be stored: a parameter is not plain data"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_another_class(stored):
    with pytest.raises(ValueError, match="holds a _Votes, expected a _Other"):
        _Other.load(stored)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.pop("class"), "not the head of a stored model"),
        (lambda h: h.pop("format"), "not the head of a stored model"),
        (lambda h: h.update(format=99), "format 99, this version reads 1"),
        (lambda h: h.update({"class": "os.system"}), "unknown class 'os.system', expected one of"),
        (lambda h: h.update({"class": ["_Votes"]}), "unknown class"),
        (lambda h: h["params"].update(depth=3), "not the parameters of _Votes .*depth"),
        (lambda h: h.update(params=[1]), "not the parameters of _Votes"),
        (lambda h: h["facts"].pop("n_seen_"), "expected those named"),
        (lambda h: h["facts"].update(extra=1), "expected those named"),
        (lambda h: h.update(facts=["n_labels_", "n_features_in_", "n_seen_"]), "expected those named"),
        (lambda h: h.update({"class": "_Other", "params": {}}), r"holds arrays \['votes_'\], expected \[\]"),
    ],
)
def test_an_altered_head(stored, change, message):
    path = stored / "model.json"
    head = json.loads(path.read_text())
    change(head)
    path.write_text(json.dumps(head))
    with pytest.raises(ValueError, match=message) as caught:
        load_estimator(stored)
    assert str(stored) in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "3", "{"])
def test_a_head_that_is_none(stored, text):
    (stored / "model.json").write_text(text)
    with pytest.raises(ValueError, match=r"model\.json: not the head of a stored model"):
        load_estimator(stored)


def test_damaged_or_missing_arrays(stored):
    path = stored / "state.safetensors"
    whole = path.read_bytes()
    for content in (whole[:-1], whole[:20], b"", b"\x80\x04K\x01."):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"state\.safetensors: cannot be read"):
            load_estimator(stored)
    path.unlink()
    with pytest.raises(ValueError, match=r"state\.safetensors: cannot be read"):
        load_estimator(stored)
    with pytest.raises(ValueError, match=r"model\.json: not the head"):
        load_estimator(stored.parent / "nowhere")


def test_other_arrays(stored):
    path = stored / "state.safetensors"
    save_file({**load_file(path), "more": np.zeros(1)}, path)
    with pytest.raises(ValueError, match=r"holds arrays \['more', 'votes_'\], expected \['votes_'\]"):
        load_estimator(stored)
