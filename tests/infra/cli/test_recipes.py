"""From what a person typed to a recipe: data is looked at before anything is started."""

import pytest

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
