"""The base of models of ratings: one hook to fit, recommendations in blocks, a folder that proves its bounds."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tagcore.base import MODELS, load_estimator, registered_models
from tagcore.baselines import DampedBiases
from tagcore.rating_model import UNKNOWN, RatingModel
from tagcore.ratings import Ratings, UserTaggings
from tagcore.shards import InProcess
from tagcore.synthetic.ratings import PlantedRatings
from tagcore.tag_model import TagModel
from tagcore.training import Checkpoints, FitContext

EVERY = pytest.mark.parametrize(
    "model",
    [m for m in registered_models().values() if issubclass(m, RatingModel) and m.__module__.startswith("tagcore.")],
)


@pytest.fixture(scope="module")
def planted():
    return PlantedRatings(60, 25, n_factors=3, n_groups=4, n_tags=12, ratings_per_user=6, seed=2)


@pytest.fixture(scope="module")
def ratings(planted):
    return planted.ratings()


class _Distance(RatingModel):
    """an item is the better the nearer its number is to the user's; the unknown counts as number 0."""

    def _fit(self, ratings, taggings, context):
        self.seen_ = ratings, taggings, context

    def _predict(self, users, items):
        return -np.abs(np.maximum(users, 0) - np.maximum(items, 0)).astype(float)


def test_bases_are_no_models_themselves():
    assert not {"Estimator", "TagModel", "RatingModel"} & set(MODELS)


def test_the_hook_gets_what_fit_was_told(ratings, planted, tmp_path):
    told = {"executor": InProcess(2), "progress": lambda *known: None, "checkpoints": Checkpoints(tmp_path, "x")}
    taggings = planted.taggings()
    _, seen_taggings, context = _Distance().fit(ratings, taggings, **told).seen_
    assert seen_taggings is taggings
    assert context == FitContext(**told)


def test_of_a_pair_rated_twice_the_last_counts():
    twice = Ratings.from_values(["a", "b", "a"], ["i", "i", "i"], [1, 2, 5])
    learnt = _Distance().fit(twice).seen_[0]
    assert learnt.table["value"].to_pylist() == [2, 5]
    mean = MODELS["ItemMean"]().fit(twice)
    assert mean.predict([0], [0]).tolist() == [3.5]
    assert mean.rated_items_.tolist() == [0, 0]


def test_what_is_no_ratings_is_named():
    with pytest.raises(ValueError, match=r"ratings is a list, expected tagcore\.Ratings"):
        DampedBiases().fit([[1, 2]])


@EVERY
def test_odd_ratings_and_taggings_are_refused_and_leave_the_model_as_it_was(model, ratings):
    with pytest.raises(ValueError, match="there are no ratings to learn from"):
        model().fit(Ratings.from_values([], [], []))
    fitted = model().fit(ratings)
    before = dict(vars(fitted))
    others = Ratings.from_values(["a"] * 60, [f"i{n}" for n in range(60)], [1] * 60)
    tagged = UserTaggings.from_values(others, ["a"], ["i59"], ["red"])
    with pytest.raises(ValueError, match=r"tagging 0 names item 59, expected 0\.\.24"):
        fitted.fit(ratings, tagged)
    assert vars(fitted) == before


def test_a_fit_that_fails_leaves_the_model_as_it_was(ratings, monkeypatch):
    model = MODELS["ItemMean"]().fit(ratings)
    before = dict(vars(model))

    def interrupt(self, *args):
        self.item_means_ = None
        raise KeyboardInterrupt

    monkeypatch.setattr(MODELS["ItemMean"], "_fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(Ratings.from_values(["a"], ["i"], [1]))
    assert vars(model) == before


@EVERY
def test_parameters_clone_and_nothing_works_before_fit(model):
    assert clone(model()).get_params() == model().get_params()
    for call in (
        lambda m: m.predict([0], [0]),
        lambda m: m.top_k([0]),
        lambda m: m.recommend(0),
        lambda m: m.save("x"),
    ):
        with pytest.raises(NotFittedError):
            call(model())


@EVERY
@pytest.mark.parametrize("exclude_seen", [True, False])
def test_top_k_is_a_stable_sort_of_all_predictions(model, ratings, exclude_seen, monkeypatch):
    monkeypatch.setattr("tagcore.rating_model.block_rows", lambda n_items: 7)
    fitted = model().fit(ratings)
    users = np.array([5, 0, 59, -1, 60, 17, *range(20)])
    for k in (1, 4, 100):
        items, scores = fitted.top_k(users, k, exclude_seen)
        assert items.shape == scores.shape == (users.size, min(k, 25))
        for user, mine, values in zip(users, items, scores, strict=True):
            known = set(ratings.matrix[user].indices) if exclude_seen and 0 <= user < 60 else set()
            all_scores = fitted.predict([user] * 25, range(25))
            order = [i for i in np.argsort(-all_scores, kind="stable") if i not in known][:k]
            assert [i for i in mine if i != UNKNOWN] == order
            np.testing.assert_array_equal(values[: len(order)], all_scores[order])
            assert (mine[len(order) :] == UNKNOWN).all()
            assert np.isneginf(values[len(order) :]).all()
            alone, alone_scores = fitted.recommend(user, k, exclude_seen)
            assert alone.tolist() == order
            np.testing.assert_array_equal(alone_scores, all_scores[order])


def test_users_times_items_is_never_formed(ratings, monkeypatch):
    monkeypatch.setattr("tagcore.rating_model.block_rows", lambda n_items: 8)
    most = 0

    def count(self, users, items, known=_Distance._predict):
        nonlocal most
        most = max(most, users.size)
        return known(self, users, items)

    monkeypatch.setattr(_Distance, "_predict", count)
    _Distance().fit(ratings).top_k(np.arange(60), 2)
    assert most == 8 * 25


@EVERY
def test_whoever_is_outside_is_unknown_and_gets_the_fallback(model, ratings):
    fitted = model().fit(ratings)
    for users, items in (([-1, 60, 10**9], [0, 0, 0]), ([3, 3, 3], [-1, 25, 10**9]), ([-1, 60, -7], [-1, 25, 99])):
        values = fitted.predict(users, items)
        assert np.isfinite(values).all()
        assert len(set(values)) == 1


@EVERY
@pytest.mark.parametrize("ids", [[0.5], ["ann"], [[0]], [None], [True]])
def test_ids_that_are_none_are_refused(model, ratings, ids):
    fitted = model().fit(ratings)
    with pytest.raises(ValueError, match=r"users are .*expected a vector of whole numbers"):
        fitted.predict(ids, [0])
    with pytest.raises(ValueError, match=r"users are .*expected a vector of whole numbers"):
        fitted.top_k(ids)
    with pytest.raises(ValueError, match="2 users and 1 items"):
        fitted.predict([0, 1], [0])
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        fitted.recommend(0, 0)


@EVERY
def test_a_stored_model_comes_back(model, ratings, tmp_path):
    fitted = model().fit(ratings)
    fitted.save(tmp_path / "model")
    for load in (load_estimator, RatingModel.load, model.load):
        back = load(tmp_path / "model")
        assert type(back) is model
        np.testing.assert_array_equal(back.top_k(range(60), 5)[0], fitted.top_k(range(60), 5)[0])
        np.testing.assert_array_equal(back.predict(range(25), range(25)), fitted.predict(range(25), range(25)))
    with pytest.raises(ValueError, match=f"holds a {model.__name__}, expected a TagModel"):
        TagModel.load(tmp_path / "model")


def damages(model, sizes):
    """(name, what is done to the arrays and facts) for all that a stored model of ratings consists of."""
    yield "rated_items_", lambda a, f: a["rated_items_"].__setitem__(0, 25)
    yield "rated_items_", lambda a, f: a["rated_items_"].__setitem__(0, -1)
    yield "rated_starts_", lambda a, f: a["rated_starts_"].__setitem__(3, 10**6)
    yield "rated_starts_", lambda a, f: a.update(rated_starts_=a["rated_starts_"][:-1])
    yield "n_items_", lambda a, f: f.update(n_items_=24)
    yield "n_users_", lambda a, f: f.update(n_users_=0)
    yield "n_users_", lambda a, f: f.update(n_users_="60")
    if "mean_" in model._facts:
        yield "mean_", lambda a, f: f.update(mean_=float("inf"))
    for name in model._arrays:
        if sizes[name]:
            yield name, lambda a, f, name=name: a.update({name: a[name][:-1]})
            yield name, lambda a, f, name=name: a[name].__setitem__(0, -2 if a[name].dtype.kind == "i" else np.nan)


@EVERY
def test_a_damaged_folder_is_refused(model, ratings, planted, tmp_path):
    fitted = model().fit(ratings, planted.taggings())
    sizes = {name: getattr(fitted, name).size for name in model._arrays}
    for number, (_, damage) in enumerate(damages(model, sizes)):
        folder = tmp_path / str(number)
        fitted.save(folder)
        arrays, head = load_file(folder / "state.safetensors"), json.loads((folder / "model.json").read_text())
        damage(arrays, head["facts"])
        save_file(arrays, folder / "state.safetensors")
        (folder / "model.json").write_text(json.dumps(head))
        with pytest.raises(ValueError, match=f"{folder}: its arrays do not fit together"):
            load_estimator(folder)
