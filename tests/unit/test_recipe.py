"""Recipes: what is written in them is what is done, and mistakes are named."""

import pytest

from flows.recipe import RecipeError, load_recipe, presets
from infra.cli.values import parse_pairs
from tasks.places import data_name, registered_name


@pytest.mark.parametrize("name", presets())
def test_every_preset_loads_and_names_itself(name):
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe.about
    assert recipe.all_models()


def test_models_and_settings_expand_to_a_grid(tmp_path):
    path = tmp_path / "g.toml"
    path.write_text("""
[grid]
"features.stem" = ["english", "german"]
"split.seed" = [0, 1, 2]
[[models]]
model = "KNN"
params = { power = 2.0 }
grid = { n_neighbors = [1, 2] }
""")
    variants = list(load_recipe(str(path)).expand())
    assert [(v.features.stem, v.split.seed) for v in variants] == [
        (stem, seed) for stem in ("english", "german") for seed in (0, 1, 2)
    ]
    assert [m.params for m in variants[0].all_models()] == [{"power": 2.0, "n_neighbors": k} for k in (1, 2)]
    assert variants[0].grid == {}


def test_a_seed_given_twice_is_one_seed():
    assert load_recipe("nightly", {"seeds": [3, 0, 3]}).seeds == [3, 0]


def test_overrides_reach_into_groups():
    recipe = load_recipe("nightly", {"data.source": "x.jsonl", "features.min_df": 3, "seeds": [7]})
    assert (recipe.data.source, recipe.features.min_df, recipe.seeds) == ("x.jsonl", 3, [7])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "models"),
        ("models = []", "models = \\[\\]"),
        ('[[models]]\nmodel = "KNN"\nparms = {}', "models.0.parms"),
        ('[[models]]\nmodel = "KNN"\n[split]\ntest = 1.5', "split.test = 1.5"),
        ('[[models]]\nmodel = "KNN"\n[measures]\nks = [0]', "measures.ks = \\[0\\]"),
        ('name = "../up"\n[[models]]\nmodel = "KNN"', "name = '../up'"),
        ("models = [", "not readable as TOML"),
        ('seeds = []\n[[models]]\nmodel = "KNN"', "seeds = \\[\\]"),
        ('[[models]]\nmodel = "KNN"\n[measures]\nks = [1, 3]', "measures.primary = 'nDCG@5'"),
        ('[[models]]\nmodel = "KNN"\n[measures]\nprimary = "F1"', "expected one of P@1"),
        ('[[models]]\nmodel = "KNN"\n[[models]]\nmodel = "KNN"\ncalibrate = "platt"', "two models are called 'KNN'"),
        ('[[models]]\nmodel = "KNN"\n[grid]\n"measures.ks" = [[1], [5]]', "'measures.ks' cannot be varied"),
    ],
)
def test_a_mistake_is_named_with_file_setting_and_value(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(RecipeError, match=message) as raised:
        load_recipe(str(path))
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("name", ["no-such-preset", "../presets/demo", "/etc/passwd"])
def test_only_presets_and_toml_files_are_recipes(name):
    with pytest.raises(RecipeError, match="no preset"):
        load_recipe(name)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(RecipeError, match="no such file"):
        load_recipe(str(tmp_path / "none.toml"))


def test_pairs_are_toml_values_or_bare_words():
    pairs = ["C=0.5", "stem=english", "ks=[1, 2]", "on=true", 'name="a b"', "empty="]
    expected = {"C": 0.5, "stem": "english", "ks": [1, 2], "on": True, "name": "a b", "empty": ""}
    assert parse_pairs(pairs) == expected


@pytest.mark.parametrize("pair", ["C", "=1", ""])
def test_a_pair_needs_a_name_and_a_value(pair):
    with pytest.raises(ValueError, match="expected name=value"):
        parse_pairs([pair])


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("demo", "demo"),
        ("/data/bibtex/", "bibtex"),
        ("/data/stackexchange/cooking.csv.zip", "cooking"),
        ("/data/stackexchange:cooking", "cooking"),
        ("notes.jsonl.gz", "notes"),
        ("../../..", data_name("../../..")),
        ("a b/ü ö.csv", data_name("a b/ü ö.csv")),
    ],
)
def test_names_of_sources_are_safe(source, name):
    assert data_name(source) == name
    assert name
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def test_models_are_compared_within_one_data_set():
    assert registered_name("demo", "demo") == "demo"
    assert registered_name("nightly", "/x/bibtex") == "nightly-bibtex"
