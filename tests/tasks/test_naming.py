"""What data sets and registered models are called, whatever their files are called today."""

from pathlib import Path

import pytest

from tagcore.store.datasets import StoreError
from tasks.data_settings import DataSettings
from tasks.naming import artifact_key, data_name, errors_name_source, line_called, registered_name, safe_name

SAFE = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def name_of(source):
    return data_name(DataSettings(source=source))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("demo", "demo"),
        ("/data/bibtex/", "bibtex"),
        ("/data/stackexchange/cooking.csv.zip", "cooking"),
        ("/data/stackexchange:cooking", "cooking"),
        ("notes.jsonl.gz", "notes"),
        ("exports/notes-2026-11-16.jsonl", "notes"),
        ("notes_20261116.csv.gz", "notes"),
        ("notes.2026_11_16.jsonl", "notes"),
        ("2026-11-16-notes.jsonl", "notes"),
        ("notes-2026-11-16T03-00-00Z.jsonl", "notes"),
        ("notes-2026-11-16-full.jsonl", "notes-full"),
        ("2026-11-16.jsonl", "2026-11-16"),
        ("reuters21578", "reuters21578"),
        ("sample-99991231", "sample-99991231"),
        ("part-2026-13-40.csv", "part-2026-13-40"),
        ("run-120261116.csv", "run-120261116"),
    ],
)
def test_sources_are_called_by_their_files_without_dates(source, name):
    assert name_of(source) == name


@pytest.mark.parametrize("source", ["../../..", "a b/ü ö.csv", "x" * 99])
def test_names_of_sources_are_safe(source):
    assert name_of(source)
    assert set(name_of(source)) <= SAFE


def test_a_recipe_names_its_data_as_it_likes():
    assert data_name(DataSettings(source="/x/notes.jsonl", name="mine-2026-11-16")) == "mine-2026-11-16"
    with pytest.raises(ValueError, match="name"):
        DataSettings(name="../up")


def test_models_are_compared_within_one_data_set():
    assert registered_name("demo", "demo") == "demo"
    assert registered_name("nightly", "bibtex") == "nightly-bibtex"


def test_long_names_stay_apart():
    one, other = (safe_name(f"curve on {'x' * 60} train_documents={n}") for n in (250, 500))
    assert one != other
    assert max(len(one), len(other)) <= 57
    assert name_of(f"a/{'x' * 60}.csv") != name_of(f"b/{'x' * 60}.csv")


STORED = Path("/store/corpus-1a2b")


@pytest.mark.parametrize("told", [f"{STORED}: no tags", f"{STORED}/bags.parquet: no tags", "no tags"])
def test_errors_about_what_data_holds_name_its_source(told):
    named = errors_name_source(DataSettings(source="notes.jsonl"), STORED)
    with pytest.raises(ValueError, match=r"^notes\.jsonl: no tags$"), named:
        raise ValueError(told)


def test_errors_about_a_stored_folder_name_the_folder():
    named = errors_name_source(DataSettings(source="notes.jsonl"), STORED)
    with pytest.raises(StoreError, match=rf"^{STORED}: is missing$"), named:
        raise StoreError(f"{STORED}: is missing")


@pytest.mark.parametrize(
    ("of", "key"),
    [
        ("nightly-notes", "decision-nightly-notes"),
        ("nightly on My_notes: A", "decision-nightly-on-my-notes-a"),
        ("µ", "decision"),
    ],
)
def test_artifacts_have_keys_that_prefect_takes(of, key):
    assert artifact_key("decision", of) == key


@pytest.mark.parametrize(
    ("name", "line"),
    [("KNN", "KNN"), ("PMF", "PMF alpha=4.0"), ("Ridge", None), ("PM", None), ("", None), ("KNN k=3", "KNN k=3")],
)
def test_a_line_of_a_table_is_called_by_its_whole_label_or_by_what_is_enough_to_tell_it(name, line):
    assert line_called(name, ["KNN", "KNN k=3", "PMF alpha=4.0", "PMF alpha=4.0", "Ridge C=1", "Ridge C=2"]) == line
