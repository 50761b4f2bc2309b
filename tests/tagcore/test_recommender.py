"""A recommender: names in, names out, a folder beside a tagger's."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tagcore import load_model
from tagcore.baselines import DampedBiases, ItemMean, Popular
from tagcore.models import PMF
from tagcore.ratings import Ratings, UserTaggings
from tagcore.recommender import Recommendation, Recommender
from tagcore.store.datasets import StoreError
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser

RATINGS = Ratings.from_values(["ann", "bob", "bob", "cy"], ["tea", "tea", "jam", "rye"], [5, 4, 3, 1])


@pytest.fixture
def recommender():
    return Recommender(ItemMean().fit(RATINGS), RATINGS.user_names, RATINGS.item_names)


def test_names_go_in_and_come_out(recommender):
    assert recommender.recommend("ann") == [Recommendation("jam", 3.0), Recommendation("rye", 1.0)]
    assert recommender.recommend("ann", k=1, exclude_seen=False) == [Recommendation("tea", 4.5)]
    assert recommender.predict("cy", "tea") == 4.5
    both = recommender.recommend_all(["bob", "nobody"])
    assert [[r.item for r in of_user] for of_user in both] == [["rye"], ["tea", "jam", "rye"]]


def test_unknown_names_are_told(recommender):
    with pytest.raises(ValueError, match="no user 'dan': it is none of the 3 that this model knows"):
        recommender.recommend("dan")
    with pytest.raises(ValueError, match="no item 'gin': it is none of the 3 that this model knows"):
        recommender.predict("ann", "gin")
    assert recommender.user_ids(["cy", "dan", "ann"]).tolist() == [2, -1, 0]
    assert recommender.item_ids(["gin", "rye"]).tolist() == [-1, 2]


def test_load_model_gives_what_the_folder_holds(recommender, tmp_path):
    recommender.save(tmp_path / "r", parameters={"seed": 1})
    back = load_model(tmp_path / "r")
    assert type(back) is Recommender
    assert back.recommend("bob") == recommender.recommend("bob")
    assert (back.user_names, back.item_names) == (RATINGS.user_names, RATINGS.item_names)
    vectoriser = Vectoriser().fit(["red tea"])
    Tagger(vectoriser, Popular().fit(vectoriser.transform(["red tea"]), [[1]]), ["x"]).save(tmp_path / "t")
    assert type(load_model(tmp_path / "t")) is Tagger
    with pytest.raises(StoreError, match="a data set of kind 'recommender', expected 'model'"):
        Tagger.load(tmp_path / "r")
    with pytest.raises(StoreError, match="a data set of kind 'model', expected 'recommender'"):
        Recommender.load(tmp_path / "t")
    with pytest.raises(StoreError, match="there is no such folder"):
        load_model(tmp_path / "nowhere")


@pytest.mark.parametrize("damage", ["names", "model", "manifest"])
def test_a_damaged_folder_is_refused(recommender, tmp_path, damage):
    folder = tmp_path / "r"
    recommender.save(folder)
    if damage == "names":
        (folder / "users.parquet").write_bytes(b"PAR1")
    elif damage == "model":
        state = folder / "model" / "state.safetensors"
        state.write_bytes(state.read_bytes()[:-1] + b"\x01")
    else:
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps(manifest | {"parameters": {"seed": 2}}))
    with pytest.raises(StoreError, match=str(folder)):
        load_model(folder)


def test_names_that_do_not_fit_the_model_are_refused():
    model = DampedBiases().fit(RATINGS)
    with pytest.raises(ValueError, match="2 user names, the model was trained on 3"):
        Recommender(model, ["ann", "bob"], RATINGS.item_names)
    with pytest.raises(ValueError, match="4 item names, the model was trained on 3"):
        Recommender(model, RATINGS.user_names, ["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="two items have one name, expected 3 different ones"):
        Recommender(model, RATINGS.user_names, ["a", "b", "a"])


class _ByTags(ItemMean):
    """Knows of tags only which item they are the number of."""

    def recommend_for_tags(self, tags, k):
        return np.array(tags[:k]), np.full(min(k, len(tags)), 2.5)


def test_titles_are_told_where_there_are_some(tmp_path):
    ratings = replace(RATINGS, item_titles=["A pot of tea", "", "Rye bread"])
    model = ItemMean().fit(ratings)
    Recommender.of(model, ratings).save(tmp_path / "r")
    found = load_model(tmp_path / "r").recommend("ann")
    assert [(r.item, r.title, r.told) for r in found] == [("jam", "", "jam"), ("rye", "Rye bread", "Rye bread")]
    with pytest.raises(ValueError, match="1 titles, the model was trained on 3 items"):
        Recommender(model, ratings.user_names, ratings.item_names, ["x"])


def test_someone_unknown_is_served_by_tags():
    taggings = UserTaggings.from_values(RATINGS, ["ann", "bob"], ["tea", "jam"], ["hot drink", "sweet"])
    by_tags = Recommender.of(_ByTags().fit(RATINGS), RATINGS, taggings)
    assert by_tags.recommend_for_tags(["  Sweet", "sour", "HOT\tdrink"]) == [
        Recommendation("jam", 2.5),
        Recommendation("tea", 2.5),
    ]
    assert by_tags.unknown_tags(["Sweet ", "sour"]) == ["sour"]
    told = UserTaggings.from_values(RATINGS, ["ann", "bob"], ["tea", "jam"], ["Hot Drink", "sweet"])
    assert Recommender.of(_ByTags().fit(RATINGS), RATINGS, told).unknown_tags(["Hot Drink", "hot drink"]) == [
        "hot drink"
    ]
    with pytest.raises(ValueError, match="'sour': none of the 2 tags that this model knows"):
        by_tags.recommend_for_tags(["sour"])
    with pytest.raises(ValueError, match="no tag: none of the 2 tags"):
        by_tags.recommend_for_tags([])
    for model, tags in ((ItemMean(), taggings), (_ByTags(), None)):
        with pytest.raises(ValueError, match="has learnt nothing from tags: it cannot recommend by them"):
            Recommender.of(model.fit(RATINGS), RATINGS, tags).recommend_for_tags(["sweet"])
    without = PMF(n_factors=2).fit(RATINGS, taggings)
    assert not Recommender.of(without, RATINGS, taggings).takes_tags


def test_tags_are_stored_and_must_be_those_of_the_model(tmp_path):
    taggings = UserTaggings.from_values(RATINGS, ["ann"], ["tea"], ["hot"])
    Recommender.of(ItemMean().fit(RATINGS), RATINGS, taggings).save(tmp_path / "r")
    assert load_model(tmp_path / "r").tag_names == ["hot"]
    model = ItemMean().fit(RATINGS)
    model.n_tags_ = 2
    with pytest.raises(ValueError, match="1 tag names, the model was trained on 2"):
        Recommender.of(model, RATINGS, taggings)
