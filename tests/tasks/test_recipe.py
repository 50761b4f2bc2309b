"""Recipes: what is written in them is what is done, and mistakes are named."""

import pytest

from flows.grid import curve_setting, lines_of_models
from flows.recipes import load_recipe, preset_names
from infra.cli.values import parse_pairs
from tagcore.labelling.rules import rule_names
from tasks import recipe
from tasks.data_kinds import require_models
from tasks.recipe import RecipeError
from tasks.recipe_settings import ModelChoice


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads_and_names_itself(name):
    loaded = load_recipe(name)
    assert loaded.name == name
    assert loaded.about
    assert list(loaded.expand())
    require_models(loaded)


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


def test_a_test_side_is_a_share_or_a_number_of_documents():
    for given in (0.25, 1935, 1):
        found = load_recipe("nightly", {"split.test": given}).split.test
        assert (found, type(found)) == (given, type(given))


def test_models_differ_by_their_thresholds():
    shared = {"model": "PassiveAggressive", "params": {"C": 0.3}}
    models = [shared, {**shared, "thresholds": "cross-validated"}, {**shared, "thresholds": "OneVsRestLinear"}]
    plain, own, others = load_recipe("nightly", {"models": models}).all_models()
    assert plain.label == "PassiveAggressive C=0.3"
    assert own.label == "PassiveAggressive C=0.3 thresholds=cross-validated"
    assert plain.threshold_model is None
    assert own.threshold_model == ModelChoice(model="PassiveAggressive", params={"C": 0.3})
    assert others.threshold_model == ModelChoice(model="OneVsRestLinear")


def test_recipes_know_the_rules_that_evaluations_know():
    assert recipe.MeasureSettings(labelling=rule_names()).labelling == list(rule_names())
    assert recipe.TuningSettings(measure="macro-F1 (class-mass)").rule == "class-mass"
    assert recipe.TuningSettings(measure="AUC (row)").rule is None


def varying(grid=None, parameters=None):
    models = [{"model": "KNN"}, {"model": "Ridge", "params": {"tol": 0.1}, "grid": parameters or {}}]
    return load_recipe("nightly", {"grid": grid or {}, "models": models})


@pytest.mark.parametrize(
    ("given", "setting"),
    [
        (varying({"split.train_documents": [10, 20]}), "split.train_documents"),
        (varying({"split.train_documents": [10, 20], "features.stem": ["english", "german"]}), "split.train_documents"),
        (varying(parameters={"alpha": [0.5, 1.0]}), "alpha"),
        (varying({"split.train_documents": [10]}), None),
        (varying({"split.seed": [0, 1]}), None),
        (varying({"features.binary": [False, True]}), None),
        (varying({"features.min_df": [1, 2]}, {"alpha": [0.5, 1.0]}), None),
        (varying(), None),
    ],
)
def test_curves_are_drawn_against_the_one_number_that_varies(given, setting):
    assert curve_setting(given) == setting


def test_points_of_curves_are_lines_of_models():
    settings = {"features.min_df": [1, 2], "features.stem": ["english", "german"]}
    found = {}
    for variant in (given := varying(settings)).expand():
        found |= lines_of_models(given, variant)
    assert len(found) == 8
    assert found["KNN min_df=2 stem=german"] == ("KNN stem=german", 2.0)
    (variant,) = (given := varying({"split.test": [0.5]})).expand()
    assert lines_of_models(given, variant) == {}
    (variant,) = (given := varying(parameters={"alpha": [0.5, 1.0]})).expand()
    assert lines_of_models(given, variant) == {
        "Ridge alpha=0.5 tol=0.1": ("Ridge tol=0.1", 0.5),
        "Ridge alpha=1.0 tol=0.1": ("Ridge tol=0.1", 1.0),
    }


def test_a_seed_given_twice_is_one_seed():
    assert load_recipe("nightly", {"seeds": [3, 0, 3]}).seeds == [3, 0]


def test_overrides_reach_into_groups():
    loaded = load_recipe("nightly", {"data.source": "x.jsonl", "features.min_df": 3, "seeds": [7]})
    assert (loaded.data.source, loaded.features.min_df, loaded.seeds) == ("x.jsonl", 3, [7])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "models"),
        ("models = []", "models = \\[\\]"),
        ('[[models]]\nmodel = "KNN"\nparms = {}', "models.0.parms"),
        ('[[models]]\nmodel = "KNN"\n[split]\ntest = 1.5', "split.test = 1.5"),
        ('[[models]]\nmodel = "KNN"\n[split]\ntest = 0', "split.test = 0.*a share between 0 and 1, or a whole number"),
        ('[[models]]\nmodel = "KNN"\n[split]\ntrain_documents = 0', "split.train_documents = 0"),
        ('[[models]]\nmodel = "KNN"\n[split]\nredraw = true', 'split.redraw = True.*expected kind = "drawn"'),
        (
            '[[models]]\nmodel = "KNN"\n[measures]\nlabelling = ["best"]',
            "measures.labelling.0 = 'best'.*there are half, class-mass",
        ),
        ('[[models]]\nmodel = "KNN"\n[measures]\nks = [0]', "measures.ks = \\[0\\]"),
        ('name = "../up"\n[[models]]\nmodel = "KNN"', "name = '../up'"),
        ("models = [", "not readable as TOML"),
        ('seeds = []\n[[models]]\nmodel = "KNN"', "seeds = \\[\\]"),
        ('[[models]]\nmodel = "KNN"\n[measures]\nks = [1, 3]', "measures.primary = 'nDCG@5'"),
        ('[[models]]\nmodel = "KNN"\n[measures]\nprimary = "F1"', "expected one of P@1"),
        ('[[models]]\nmodel = "KNN"\n[[models]]\nmodel = "KNN"\ncalibrate = "platt"', "two models are called 'KNN'"),
        ('[[models]]\nmodel = "KNN"\n[grid]\n"measures.ks" = [[1], [5]]', "'measures.ks' cannot be varied"),
        ('[[models]]\nmodel = "KNN"\n[tuning]\nmeasure = "nDGC@5"', "tuning.measure = 'nDGC@5': no measure 'nDGC@5'"),
        ('[[models]]\nmodel = "KNN"\n[tuning]\nmeasure = "macro-F1 (hafl)"', r"no measure 'macro-F1 \(hafl\)'"),
        ('[[models]]\nmodel = "KNN"\n[tuning]\nmeasure = "P@7"', "'P@7' is not measured, expected a k of ks"),
        (
            '[[models]]\nmodel = "KNN"\n[tuning]\nmeasure = "MAE"',
            "tuning.measure has 'MAE', which is no measure of doc",
        ),
        ('[[models]]\nmodel = "KNN"\n[measures]\ncolumns = ["P@7"]', "'P@7' is not measured, expected a k of ks"),
        ('[[models]]\nmodel = "KNN"\n[measures]\ncolumns = ["MAE"]', "measures.columns has 'MAE', which is no"),
        (
            '[[models]]\nmodel = "KNN"\n[measures]\nlabelling = ["half"]\ncolumns = ["macro-F1 (class-mass)"]',
            "'macro-F1 \\(class-mass\\)' is not measured, expected 'class-mass' among the rules of labelling",
        ),
        (
            '[[models]]\nmodel = "KNN"\n[measures]\nagainst = "KNNN"',
            "measures.against = 'KNNN': no model is called so; there are KNN",
        ),
        ('[[models]]\nmodel = "KNN"\n[grid]\n"split.seed" = []', "grid = .*split.seed has no values, expected one"),
        ('[[models]]\nmodel = "KNN"\n[models.grid]\npower = []', "models.0.grid = .*power has no values, expected"),
    ],
)
def test_a_mistake_is_named_with_file_setting_and_value(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(RecipeError, match=message) as raised:
        load_recipe(str(path))
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("against", "settings"),
    [
        ("KNN n_neighbors=5", {}),
        ("Popular", {}),
        ("Popular stem=english", {"grid": {"features.stem": ["english", "german"]}}),
        ("KNN n_neighbors=7", {"tuning": {"sampler": "tpe"}}),
        ("KNN n_neighbors=tuned", {"tuning": {}, "split.kind": "drawn", "split.redraw": True}),
        ("KNN", {"tuning": {}}),
        ("KNN stem=english", {"tuning": {}, "grid": {"features.stem": ["english"]}}),
        ("omikuji", {"rivals": [{"rival": "omikuji"}]}),
    ],
)
def test_a_model_to_compare_with_is_called_as_in_tables(against, settings):
    models = [{"model": "Popular"}, {"model": "KNN", "grid": {"n_neighbors": [5, 9]}}]
    given = load_recipe("baselines", {"models": models, "measures.against": against, **settings})
    assert given.measures.against == against
    assert len(list(given.expand())) >= 1


def test_a_model_to_compare_with_is_one():
    models = [{"model": "KNN", "grid": {"n_neighbors": [5, 9]}}]
    with pytest.raises(
        RecipeError, match=r"against = 'KNN': no model .*; there are KNN n_neighbors=5, KNN n_neighbors=9"
    ):
        load_recipe("baselines", {"models": models, "measures.against": "KNN"})


def test_a_mistake_that_was_typed_is_not_looked_for_in_a_file():
    with pytest.raises(RecipeError, match=r"^data.source = 'ftp://a.org/': an address of another kind"):
        load_recipe("nightly", {"data.source": "ftp://a.org/"})


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
    ("typed", "message"),
    [
        (
            "feature.stem",
            "there is no setting feature; perhaps features is meant; expected one of name, about, seeds, data",
        ),
        ("features.stemm", "there is no setting features.stemm; perhaps stem is meant; expected one of strip_accents"),
        ("tuning.zzz", "there is no setting tuning.zzz; expected one of validation, measure"),
    ],
)
def test_a_mistyped_setting_is_told_which_there_are(typed, message):
    with pytest.raises(RecipeError, match=message):
        load_recipe("nightly", {typed: 1})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"search": {"KNN": {"n_neighbors": {"low": 5, "high": 50, "step": 5}}}, "tuning": {"sampler": "tpe"}},
            r"there is no setting search\.KNN\.n_neighbors\.step; expected one of low, high, log$",
        ),
        (
            {"search": {"KNN": {"n_neighbors": {"low": 5}}}, "tuning": {"sampler": "tpe"}},
            r"^search\.KNN\.n_neighbors\.high = {'low': 5}: Field required",
        ),
        (
            {"models": [{"model": "KNN", "features": {"stemm": "english"}}]},
            r"there is no setting models\.0\.features\.stemm$",
        ),
        ({"features": 1}, r"^features = 1: Input should be a valid dictionary"),
    ],
)
def test_a_mistake_within_a_dictionary_is_named(settings, message):
    with pytest.raises(RecipeError, match=message):
        load_recipe("nightly", settings)


def test_features_that_are_no_group_are_refused_in_a_file(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text('features = 1\n[[models]]\nmodel = "KNN"\n')
    with pytest.raises(RecipeError, match=r"bad\.toml: features = 1: Input should be a valid dictionary"):
        load_recipe(str(path))


def test_a_mistyped_setting_of_a_model_is_told_which_there_are():
    with pytest.raises(
        RecipeError, match=r"no setting models\.0\.parms; perhaps params is meant; expected one of model"
    ):
        load_recipe("nightly", {"models": [{"model": "KNN", "parms": {}}]})


def test_a_recipe_of_classes_is_ranked_by_error_and_may_cap_its_rows():
    recipe = load_recipe("classes", {"split.train_documents": 10, "split.test": 20})
    assert recipe.measures.primary == "error %"


def test_a_recipe_of_ratings_is_ranked_by_mae_unless_it_says_otherwise(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[data]\nkind = "ratings"\n[[models]]\nmodel = "ItemMean"\n')
    assert load_recipe(str(path)).measures.primary == "MAE"
    assert load_recipe(str(path)).measures.ks == [5, 10, 20]
    assert load_recipe(str(path), {"measures.ks": [5]}).measures.primary == "MAE"
    assert load_recipe(str(path), {"measures.primary": "nDCG@20"}).measures.primary == "nDCG@20"
    assert load_recipe(str(path), {"measures.primary": "RMSE"}).measures.primary == "RMSE"
    (variant,) = load_recipe(str(path), {"grid": {"split.kind": ["newest"]}}).expand()
    assert (variant.split.kind, variant.measures.primary) == ("newest", "MAE")
    assert load_recipe("nightly").data.kind == "documents"


@pytest.mark.parametrize(
    ("preset", "settings", "message"),
    [
        ("ratings", {"measures.primary": "AUC (row)"}, r"measures.primary = 'AUC \(row\)': of ratings, expected P@5, "),
        ("nightly", {"split.train": 0.5}, r"split.train: .*for ratings alone"),
        ("nightly", {"split.cold_users": 5}, r"split.cold_users: .*for ratings alone"),
        ("nightly", {"data.pruning": {}}, r"data.pruning: .*for ratings alone"),
        ("nightly", {"data.profiles": "rated items"}, r"data.profiles: .*for ratings alone"),
        ("nightly", {"measures.primary": "MAE"}, r"measures.primary = 'MAE': of documents, expected P@1, "),
        ("ratings", {"split.after": "2024-01-01"}, r"split.after: .*for documents alone, and data.kind is 'ratings'"),
        ("ratings", {"split.kind": "official"}, r"split.kind: .*for documents alone, and data.kind is 'ratings'"),
        ("ratings", {"split.test": 100}, r"split.test: .*for documents alone"),
        ("ratings", {"split.train_documents": 10}, r"split.train_documents: "),
        ("ratings", {"split.test_documents": 10}, r"split.test_documents: "),
        ("ratings", {"split.revealed": 0.5}, r"split.revealed: "),
        ("ratings", {"features.min_df": 3}, r"features: "),
        ("ratings", {"measures.labelling": ["half"]}, r"measures.labelling: "),
        ("ratings", {"models": [{"model": "ItemMean", "calibrate": "platt"}]}, r"models.0.calibrate: "),
        ("ratings", {"models": [{"model": "UserMean", "thresholds": "KNN"}]}, r"models.0.thresholds: "),
        ("ratings", {"models": [{"model": "UserMean", "features": {"min_df": 2}}]}, r"models.0.features: "),
        ("classes", {"split.kind": "newest"}, r"split.kind: .*for ratings alone, and data.kind is 'classes'"),
        ("classes", {"split.revealed": 0.5}, r"split.revealed: .*for documents alone, and data.kind is 'classes'"),
        ("classes", {"features.min_df": 3}, r"features: "),
        ("classes", {"measures.primary": "MAE"}, r"measures.primary = 'MAE': of classes, expected error %, log loss"),
        ("ratings", {"data.kind": "songs"}, r"data.kind = 'songs'"),
        ("ratings", {"measures": 3}, r"measures = 3"),
    ],
)
def test_settings_of_the_other_kind_of_data_are_named(preset, settings, message):
    with pytest.raises(RecipeError, match=message):
        load_recipe(preset, settings)


def test_every_model_is_calibrated_unless_told_otherwise(tmp_path):
    recipe = tmp_path / "own.toml"
    recipe.write_text('[[models]]\nmodel = "BOMC"\n[[models]]\nmodel = "KNN"\ncalibrate = "none"\n')
    chosen = load_recipe(str(recipe), {"grid": {"split.seed": [0, 1]}})
    assert [[m.calibrate for m in r.models] for r in [chosen, *chosen.expand()]] == [["isotonic", None]] * 3
    assert "calibrate" not in str(load_recipe("ratings")._set_for_documents())
    with pytest.raises(RecipeError, match=r"models.0.calibrate = 'maybe'"):
        load_recipe(str(recipe), {"models": [{"model": "KNN", "calibrate": "maybe"}]})


def test_models_of_the_other_kind_of_data_are_one_clear_error():
    require_models(load_recipe("ratings"))
    require_models(load_recipe("nightly"))
    with pytest.raises(ValueError, match=r"KNN learns from documents, expected a model that learns from ratings: Damp"):
        require_models(load_recipe("ratings", {"models": [{"model": "ItemMean"}, {"model": "KNN"}]}))
    with pytest.raises(ValueError, match=r"UserMean learns from ratings, expected .* learns from documents: "):
        require_models(load_recipe("nightly", {"models": [{"model": "UserMean"}]}))
    with pytest.raises(ValueError, match=r"no model 'Mean'; there are DampedBiases, ItemKNN, .*UserMean"):
        require_models(load_recipe("ratings", {"models": [{"model": "Mean"}]}))


MEMBER = {"model": "KNN", "features": {"stem": "english"}}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"model": "KNN", "params": {"n_neighbours": 5}}, r"KNN has no parameter 'n_neighbours'; it has "),
        ({"model": "knn", "params": {"n_neighbors": "5"}}, r"KNN: n_neighbors must be .*, got '5'"),
        ({"model": "KNN", "grid": {"n_neighbors": [5, 0.5]}}, r"KNN: n_neighbors must be .*, got 0\.5"),
        ({"model": "KNN", "thresholds": "Nobody"}, r"no model 'Nobody'"),
        ({"model": "Blend", "params": {"members": [MEMBER | {"k": 3}]}}, r"Blend: members: KNN has no parameter 'k'"),
        ({"model": "Blend", "params": {"members": "KNN"}}, r"Blend: members must be None or a list of 1 to 16 models"),
        ({"model": "Blend", "params": {"members": [3]}}, r"Blend: members: a member is 3, expected a class name"),
    ],
)
def test_parameters_that_a_model_does_not_take_are_refused_before_any_work(model, message):
    with pytest.raises(ValueError, match=message):
        require_models(load_recipe("nightly", {"models": [model]}))


def test_members_of_a_blend_may_have_features_of_their_own():
    blend = {"model": "Blend", "params": {"members": ["OneVsRestLinear", MEMBER | {"n_neighbors": 7}]}}
    require_models(load_recipe("nightly", {"models": [blend]}))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"features.hashed_columns": 512, "features.min_df": 2}, "features: min_df=2: expected 1 with hashed_columns"),
        ({"features.hashed_columns": 0}, "features: hashed_columns=0: expected None or a number from 1"),
        (
            {"features.analyzer": "char_wb", "features.stem": "english"},
            "features: stem='english': expected analyzer",
        ),
        ({"features.ngram_range": [2, 1]}, "features: ngram_range="),
        ({"features.own_columns": ["title"]}, "features: own_columns has 'title': expected one of the fields"),
        ({"features.max_features_by": "idf"}, r"features.max_features_by = 'idf': Input should be 'tf' or 'df'"),
        (
            {
                "features.stop_words": "english",
                "models": [{"model": "KNN"}, {"model": "Ridge", "features": {"analyzer": "char_wb"}}],
            },
            "models.1.features: stop_words='english': expected analyzer='word', got 'char_wb'",
        ),
    ],
)
def test_features_that_no_vectoriser_takes_are_named_before_any_work(settings, message):
    with pytest.raises(RecipeError, match=message):
        load_recipe("nightly", settings)


def test_none_takes_a_feature_back():
    own = {"analyzer": "char_wb", "stop_words": "none", "ngram_range": [3, 5]}
    settings = {
        "features.stop_words": "english",
        "features.norm": "none",
        "models": [{"model": "KNN", "features": own}],
    }
    recipe = load_recipe("nightly", settings)
    assert (recipe.features.stop_words, recipe.features.norm) == ("english", None)
    assert recipe.features.on_top_of(**recipe.models[0].features).stop_words is None
    with pytest.raises(RecipeError, match=r"features\.min_df\.int = 'none'"):
        load_recipe("nightly", {"features.min_df": "none"})
