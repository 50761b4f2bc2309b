"""From what a person typed to a recipe: data is looked at before anything is started."""

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from flows.recipes import load_recipe
from infra.cli.console import Console
from infra.cli.main import app
from infra.cli.recipes import recipe_from_options
from tagcore.readers.bad_rows import ReadError
from tests.tagcore.readers.helpers import jsonl, zipped


def recipe_of(data, settings=None, preset="nightly", **more):
    return recipe_from_options(preset, str(data), settings, skip_bad_rows=False, **more)


@pytest.fixture
def shelf(tmp_path):
    """A folder with two known data sets."""
    for name in ("cooking", "crypto"):
        zipped(tmp_path / f"{name}.csv.zip", **{f"{name}__csv": b"title,content,tags\na,b,c\n"})
    return tmp_path


@pytest.mark.parametrize("preset", ["nightly", "ratings"])
def test_data_that_is_not_there(tmp_path, preset):
    with pytest.raises(ReadError, match=r"nowhere\.csv: there is no such file"):
        recipe_of(tmp_path / "nowhere.csv", preset=preset)


@pytest.mark.parametrize("name", ["delicious", "ml-latest-small"])
def test_the_name_of_a_known_set_alone_is_told_how_it_is_read(name):
    with pytest.raises(ValueError, match=f"tagflow ingest {name} --from FOLDER-OR-FILE.* can be had from"):
        recipe_of(name)


def test_every_data_set_of_a_grid_is_looked_at(tmp_path):
    here = jsonl(tmp_path / "here.jsonl", {"text": "x", "tags": ["t"]})
    with pytest.raises(ReadError, match=r"there\.jsonl: there is no such file"):
        recipe_of(here, [f'grid={{"data.source"=["{here}", "{tmp_path}/there.jsonl"]}}'])


def test_options_that_the_reader_does_not_have(tmp_path):
    with pytest.raises(ValueError, match="unknown option 'colour', expected one of"):
        recipe_of(jsonl(tmp_path / "a.jsonl", {}), ["data.options.colour=red"])


def test_options_of_the_reader_are_told_by_name(tmp_path):
    table = tmp_path / "lib.csv"
    table.write_text("Titel,Abstract,Schlagworte\na,b,c\n")
    told = ["text=Abstract", "tags=Schlagworte"]
    recipe = recipe_of(table, ["data.options.text=Titel"], options=told)
    assert recipe.data.options == {"text": "Abstract", "tags": "Schlagworte"}


def test_one_of_several_formats_is_named_as_the_message_says(tmp_path):
    jsonl(tmp_path / "a.jsonl", {"text": "x", "tags": ["t"]})
    (tmp_path / "b.csv").write_text("text,tags\nx,t\n")
    with pytest.raises(ReadError, match=r"several formats, csv, jsonl: .* \(--option format=NAME, in a recipe "):
        recipe_of(tmp_path)
    assert recipe_of(tmp_path, options=["format=csv"]).data.options == {"format": "csv"}


@pytest.mark.parametrize("command", ["run", "train", "experiment", "tune", "ingest", "schedule"])
def test_every_command_that_reads_takes_options_of_the_reader(command):
    called = get_command(app).commands[command]
    assert [parameter.opts for parameter in called.params if parameter.name == "option"] == [["--option", "-o"]]


@pytest.mark.parametrize("command", [["train", "KNN", "-p", "n_neighbours=5"], ["run"], ["tune", "nightly"]])
def test_a_parameter_that_a_model_does_not_have_is_told_before_a_server_is_started(tmp_path, monkeypatch, command):
    monkeypatch.setattr(Console, "session", lambda *_: pytest.fail("a server was started"))
    here = jsonl(tmp_path / "here.jsonl", {"text": "x", "tags": ["t"]})
    models = () if command[0] == "train" else ("-s", 'models=[{model="KNN", params={n_neighbours=5}}]')
    done = CliRunner().invoke(app, [*command, "--data", str(here), "--home", str(tmp_path / "home"), *models])
    assert str(done.exception).startswith("KNN has no parameter 'n_neighbours'; it has ")


def test_a_data_set_of_a_folder_by_its_name(shelf):
    assert recipe_of(f"{shelf}:cooking").data.source == f"{shelf}:cooking"
    with pytest.raises(ReadError, match=f"choose one: {shelf}:cooking, {shelf}:crypto"):
        recipe_of(shelf)
    with pytest.raises(ReadError, match="no data set called 'cookng' there; there are cooking, crypto"):
        recipe_of(f"{shelf}:cookng")


def test_data_is_called_as_told(tmp_path):
    here = jsonl(tmp_path / "here.jsonl", {"text": "x", "tags": ["t"]})
    assert recipe_of(here, data_name="mine").data.name == "mine"


def test_one_name_for_several_data_sets_is_refused(shelf):
    with pytest.raises(ValueError, match=r"data\.name = 'mine' for 2 data sets, expected one"):
        recipe_of(
            f"{shelf}:cooking", [f'grid={{"data.source"=["{shelf}:cooking", "{shelf}:crypto"]}}'], data_name="mine"
        )


@pytest.fixture
def shelves(tmp_path):
    """A folder that is no data set, of two folders that are one each."""
    for name in ("cooking", "crypto"):
        (tmp_path / "sets" / name).mkdir(parents=True)
        zipped(tmp_path / "sets" / name / f"{name}.csv.zip", **{f"{name}__csv": b"title,content,tags\na,b,c\n"})
    return tmp_path / "sets"


def test_a_folder_of_known_sets_is_varied_beside_the_grid_of_the_recipe(shelves):
    sizes = load_recipe("bomc-curve").grid["split.train_documents"]
    both = [f"{shelves}/cooking", f"{shelves}/crypto"]
    recipe = recipe_of(shelves, preset="bomc-curve", several_sets=True)
    assert recipe.grid == {"data.source": both, "split.train_documents": sizes}
    one = recipe_of(shelves, preset="bomc-curve", several_sets=True, without=["crypto"])
    assert one.grid["data.source"] == both[:1]


@pytest.mark.parametrize(
    ("command", "more"),
    [
        (["run", "--data"], []),
        (["ingest"], []),
        (["tune", "nightly", "--data"], []),
        (["schedule", "--data"], ["--at", "02:00", "--job", "compare"]),
    ],
)
def test_what_reads_one_data_set_refuses_a_folder_of_several(shelves, tmp_path, monkeypatch, command, more):
    monkeypatch.setattr(Console, "session", lambda *_: pytest.fail("a server was started"))
    done = CliRunner().invoke(app, [*command, str(shelves), *more, "--home", str(tmp_path / "home")])
    wanted = f"expected one of them: {shelves}/cooking, {shelves}/crypto"
    assert str(done.exception) == f"{shelves}: a folder of known data sets, {wanted}"


@pytest.mark.parametrize("command", [["run"], ["schedule", "--at", "02:00"]])
def test_a_grid_is_refused_by_what_takes_one_point_of_it(tmp_path, monkeypatch, command):
    monkeypatch.setattr(Console, "session", lambda *_: pytest.fail("a server was started"))
    grid = 'grid={"split.test"=[0.1, 0.2], "features.stem"=["english"]}'
    here = ["--home", str(tmp_path / "home"), "--recipe", "nightly", "--set", grid]
    done = CliRunner().invoke(app, [*command, "--data", "demo", *here])
    work = "a night is of one data set, split and features"
    told = f"nightly: {work}, and [grid] varies split.test, features.stem; `tagflow experiment` takes grids"
    assert str(done.exception) == told


def test_a_comparison_with_a_grid_is_scheduled(tmp_path):
    when = ["--at", "02:00", "--job", "compare", "--data", "demo", "--home", str(tmp_path / "home")]
    done = CliRunner().invoke(app, ["schedule", *when, "--set", 'grid={"split.test"=[0.1, 0.2]}'])
    assert str(done.exception).startswith("the stack is not up")  # it got so far


@pytest.mark.parametrize(
    ("without", "message"),
    [
        (["cypto"], "--without cypto: .*sets has no such set; there are cooking, crypto"),
        (["cooking", "crypto"], "--without leaves out every data set of .*sets: cooking, crypto"),
    ],
)
def test_sets_to_leave_out_are_those_of_the_folder_and_not_all(shelves, without, message):
    with pytest.raises(ValueError, match=message):
        recipe_of(shelves, several_sets=True, without=without)


def test_nothing_is_left_out_of_what_is_no_folder_of_sets(tmp_path):
    here = jsonl(tmp_path / "here.jsonl", {"text": "x", "tags": ["t"]})
    with pytest.raises(ValueError, match=r"--without here: expected --data with a folder of known data sets, got "):
        recipe_of(here, several_sets=True, without=["here"])


@pytest.fixture
def tuned(monkeypatch, tmp_path):
    """What `tune` would search by, as it was typed."""
    found = []

    def far_enough(recipe):
        found.append(recipe)
        raise ValueError

    monkeypatch.setattr("tasks.model_parameters.require_parameters", far_enough)

    def tune(recipe, *typed):
        CliRunner().invoke(app, ["tune", str(recipe), *typed, "--home", str(tmp_path / "home")])
        return found[-1].tuning.sampler, found[-1].tuning.trials

    return tune


def test_tune_searches_by_what_is_typed_then_by_the_recipe_then_as_usual(tuned, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('[tuning]\nsampler = "random"\ntrials = 7\n[[models]]\nmodel = "KNN"\n')
    assert tuned(own) == ("random", 7)
    assert tuned(own, "-s", "tuning.trials=3") == ("random", 3)
    assert tuned(own, "-s", "tuning.trials=3", "--trials", "4", "--sampler", "tpe") == ("tpe", 4)
    assert tuned("nightly") == ("tpe", 30)
    assert tuned("nightly", "-s", "tuning.trials=5") == ("tpe", 5)


@pytest.mark.parametrize(
    ("setting", "said"), [("seeds=[1, 2]", "--seed says"), ("name=mine", "`tagflow ex"), ("models=[]", "MODEL, --par")]
)
def test_train_refuses_settings_that_it_sets_itself(setting, said):
    done = CliRunner().invoke(app, ["train", "KNN", "-s", setting])
    assert str(done.exception).startswith(f"--set {setting.split('=')[0]}: `train` sets it itself; {said}")
