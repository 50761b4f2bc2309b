"""A night that would redo nothing is found to stand; whatever it leans on, a change of it makes it run."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from flows.recipes import load_recipe
from tagcore.store.datasets import write_dataset
from tasks import nothing_to_redo
from tasks.nothing_to_redo import IN_SERVICE, StandingNight, find_standing, keep_record, premises_of, results_in
from tasks.settings import load_settings

NOTE = '{"id": "1", "text": "flour, water, yeast", "tags": ["bread"]}\n'


class Place:
    """A state folder with one finished night on a file of notes, and the little of MLflow's tables that is read."""

    def __init__(self, folder):
        self.folder, self.notes = folder, folder / "notes.jsonl"
        self.settings = load_settings(home=folder / "home")
        self.notes.write_text(NOTE)
        self.report = self.settings.report_folder("nightly-notes")
        self.report.mkdir(parents=True)
        (self.report / "report.html").write_text("")
        with write_dataset(self.settings.data / "evaluation-1", "evaluation") as writer:
            (writer.folder / "values.txt").write_text("0.5")
        for version in (1, 2):
            model = folder / f"version-{version}" / "artifacts" / "tagger"
            model.mkdir(parents=True)
            (model / "manifest.json").write_text("{}")
        with closing(sqlite3.connect(self.settings.database)) as connection, connection:
            connection.execute("create table registered_model_aliases (name, alias, version)")
            connection.execute("create table model_versions (name, version, storage_location)")
            for version in (1, 2):
                at = (folder / f"version-{version}").as_uri()
                connection.execute("insert into model_versions values ('nightly-notes', ?, ?)", (version, at))
            connection.execute("insert into registered_model_aliases values ('nightly-notes', 'champion', 2)")

    def recipe(self, **changed):
        return load_recipe("nightly", {"data.source": str(self.notes), **changed})

    def end_night(self, promoted=True):
        decision = {"challenger": "2" if promoted else "3", "champion": "1" if promoted else "2", "promoted": promoted}
        outcome = {"decision": decision | {"reason": "by the interval"}, "page": str(self.report / "report.html")}
        stored = results_in([self.settings.data / "evaluation-1"])
        premises = premises_of(self.recipe())
        keep_record(self.report, StandingNight(premises, stored, [["read notes", ""]], outcome, ["bread 0.9"]))

    def put_into_service(self, version):
        with closing(sqlite3.connect(self.settings.database)) as connection, connection:
            connection.execute("update registered_model_aliases set version = ?", (version,))


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.end_night()
    return place


def test_a_night_stands_while_nothing_changes(place):
    night = find_standing(place.recipe(), place.settings)
    assert night.steps == [["read notes", ""]]
    assert night.examples == ["bread 0.9"]
    decision = night.outcome["decision"]
    assert (decision["promoted"], decision["reason"], decision["champion"]) == (False, IN_SERVICE, "2")


def test_a_refusal_stands_with_its_reason(place):
    place.end_night(promoted=False)
    decision = find_standing(place.recipe(), place.settings).outcome["decision"]
    assert (decision["promoted"], decision["reason"], decision["challenger"]) == (False, "by the interval", "3")


def test_another_recipe_is_another_night(place):
    assert find_standing(place.recipe(**{"features.min_df": 3}), place.settings) is None


def test_one_byte_of_the_data_makes_another_night(place):
    place.notes.write_text(NOTE.replace("flour", "floor"))
    assert find_standing(place.recipe(), place.settings) is None


def test_a_champion_that_was_moved_since_is_to_be_compared_with(place):
    place.put_into_service(1)
    assert find_standing(place.recipe(), place.settings) is None
    place.put_into_service(2)
    assert find_standing(place.recipe(), place.settings) is not None


def test_a_damaged_result_is_made_again(place):
    (place.settings.data / "evaluation-1" / "values.txt").write_text("0.9")
    assert find_standing(place.recipe(), place.settings) is None


@pytest.mark.parametrize("package", ["tagcore", "tasks", "flows"])
def test_other_code_may_give_another_night(place, monkeypatch, package):
    before = nothing_to_redo.code_hash
    monkeypatch.setattr(nothing_to_redo, "code_hash", lambda of="tagcore": "changed" if of == package else before(of))
    assert find_standing(place.recipe(), place.settings) is None


def test_without_its_page_or_record_a_night_does_not_stand(place):
    (place.report / "report.html").unlink()
    assert find_standing(place.recipe(), place.settings) is None
    (place.report / "report.html").write_text("")
    (place.report / nothing_to_redo.RECORD).write_text('{"premises": "cut')
    assert find_standing(place.recipe(), place.settings) is None


@pytest.mark.parametrize(
    "setting", [{"mlflow": "http://127.0.0.1:9"}, {"prefect": "http://127.0.0.1:9/api"}, {"cluster": "local:2"}]
)
def test_where_others_look_for_the_run_it_is_made(place, setting):
    assert find_standing(place.recipe(), load_settings(home=place.settings.home, **setting)) is None


def test_what_must_be_fetched_has_no_premises_that_can_be_known(place):
    (place.folder / "list.urls").write_text("https://example.org/\n")
    for source in ("https://example.org/", str(place.folder / "list.urls")):
        assert premises_of(load_recipe("nightly", {"data.source": source})) is None
    assert premises_of(load_recipe("demo")) is not None


def test_that_is_found_out_without_prefect_and_mlflow():
    code = "import sys, tasks.nothing_to_redo, flows.recipes; print([*{'mlflow', 'prefect'} & set(sys.modules)])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
