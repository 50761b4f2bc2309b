"""`tagflow recommend`: users by name, someone unknown by tags, items by title, and clear words where it cannot."""

import json
from dataclasses import replace

import pytest

from infra.cli.recommend import recommend
from tagcore.baselines import ItemMean
from tagcore.ratings import Ratings
from tagcore.recommender import Recommender

RATINGS = replace(
    Ratings.from_values(["ann", "bob", "bob", "cy"], ["tea", "tea", "jam", "rye"], [5, 4, 3, 1]),
    item_titles=["A pot of tea", "Strawberry jam", ""],
)


@pytest.fixture
def folder(tmp_path):
    Recommender.of(ItemMean().fit(RATINGS), RATINGS).save(tmp_path / "r")
    return str(tmp_path / "r")


def ask(capsys, folder, **given):
    asked = {"user": None, "tags": None, "model": folder, "k": 5, "seen": False, "home": None, "as_json": False}
    recommend(**asked | given)
    return capsys.readouterr().out


def test_items_are_told_by_title_best_first(capsys, folder):
    assert ask(capsys, folder, user=["ann"]) == "ann → Strawberry jam 3.00, rye 1.00\n"
    assert ask(capsys, folder, user=["ann", "cy"], k=1).splitlines() == [
        "ann → Strawberry jam 3.00",
        "cy → A pot of tea 4.50",
    ]
    assert ask(capsys, folder, user=["bob"], seen=True, k=1) == "bob → A pot of tea 4.50\n"


def test_machines_get_one_object_a_user(capsys, folder):
    (line,) = ask(capsys, folder, user=["ann"], k=1, as_json=True).splitlines()
    assert json.loads(line) == {"user": "ann", "items": [{"item": "jam", "title": "Strawberry jam", "score": 3.0}]}


def test_what_it_cannot_do_is_said(capsys, folder):
    with pytest.raises(ValueError, match="no user 'dan': it is none of the 3 that this model knows"):
        ask(capsys, folder, user=["dan"])
    with pytest.raises(ValueError, match="ItemMean has learnt nothing from tags"):
        ask(capsys, folder, tags="jazz, piano")
    with pytest.raises(ValueError, match=r'expected the name of a user, or --tags "some, tags"$'):
        ask(capsys, folder)
    with pytest.raises(ValueError, match=r"expected the name of a user, or --tags .*, not both$"):
        ask(capsys, folder, user=["ann"], tags="jazz")
    with pytest.raises(ValueError, match="not a stored recommender"):
        ask(capsys, folder + "x", user=["ann"])
