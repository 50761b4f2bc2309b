"""The whole job on ratings, as a user sees it: run, run again, serve, promote by MAE, refuse to promote, bad input."""

from pathlib import Path

import pytest

MEANS = "models=[{model='ItemMean'}, {model='UserMean'}, {model='DampedBiases'}]"
SMALL = ("--recipe", "ratings", "--set", "data.users=300", "--set", "data.items=60", "--set", MEANS)


@pytest.fixture(scope="module")
def first(tagflow):
    return tagflow.json("run", *SMALL)


def stored(home: Path) -> dict[str, int]:
    """Every stored result with the time it was made."""
    return {p.parent.name: p.stat().st_mtime_ns for p in (home / "data").glob("*/manifest.json")}


def test_the_first_run_compares_promotes_and_recommends(first):
    rows = first["report"]["rows"]
    assert [row["model"] for row in rows] == ["DampedBiases", "ItemMean", "UserMean"]
    assert first["report"]["columns"] == ["nDCG@10", "R@20", "MAE", "RMSE"]
    for row in rows:
        for measure in ("MAE", "RMSE"):
            assert 0 < row["measures"][measure]["low"] < row["measures"][measure]["value"]
    assert rows[1]["difference"]["low"] > 0  # an error that is larger than the best one's
    assert "held-out ratings; 95 % intervals over users; best first by MAE." in first["report"]["about"]
    assert first["decision"]["promoted"]
    assert first["model"] == "models:/ratings-demo@champion"
    for example in first["examples"]:
        assert len(example["recommended"]) == 5
        assert all(item.startswith("item") for item, _ in example["recommended"])
        assert example["liked"]


def test_a_second_run_redoes_nothing_and_an_experiment_shares_its_steps(tagflow, first):
    before = stored(tagflow.home)
    again = tagflow.json("run", *SMALL)
    assert again["account"]["work_seconds"] == 0
    assert again["decision"]["reason"] == "it is the model in service already"
    assert again["report"]["rows"] == first["report"]["rows"]
    experiment = tagflow.json("experiment", "ratings", *SMALL[2:])
    assert experiment["account"]["work_seconds"] == 0
    assert experiment["reports"][0]["rows"] == first["report"]["rows"]
    assert stored(tagflow.home) == before


def test_a_person_reads_five_recommendations(tagflow, first):
    shown = tagflow("run", *SMALL)
    assert shown.returncode == 0, shown.stderr
    assert "| DampedBiases | 0." in shown.stdout
    example = first["examples"][0]
    assert f"  for {example['user']}\n  → {example['recommended'][0][0]} " in shown.stderr
    assert "rated highest of what was held out" in shown.stderr


def test_the_registered_model_answers_with_items_and_scores(tagflow, first, monkeypatch):
    import mlflow
    import pandas as pd

    from tasks.settings import Settings

    monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "false")
    address = Settings(home=tagflow.home).tracking_uri.get_secret_value()
    mlflow.set_tracking_uri(address)
    mlflow.set_registry_uri(address)  # a test before this one may have set another
    served = mlflow.pyfunc.load_model(first["model"])
    example = first["examples"][0]
    answer = served.predict(pd.DataFrame({"user": [example["user"], "nobody"]}), params={"k": 3})
    assert list(answer.columns) == ["items", "scores", "titles"]
    by_tags = served.predict(pd.DataFrame({"user": ["nobody"], "tags": ["jazz"]}), params={"k": 3})
    assert by_tags["items"][0] == by_tags["titles"][0] == answer["items"][1]  # means know nothing of tags
    assert answer["items"][0] == [item for item, _ in example["recommended"]][:3]
    assert answer["scores"][0] == pytest.approx([score for _, score in example["recommended"]][:3])
    assert len(answer["items"][1]) == 3
    files = [p for p in (tagflow.home / "mlartifacts" / "ratings-demo").rglob("*") if p.is_file()]
    assert {"model_card.md", "per_user.parquet", "evaluation.json"} <= {p.name for p in files}
    assert not [p for p in files if p.suffix in (".pkl", ".pickle", ".joblib", ".cloudpickle")]


def test_the_champion_moves_only_to_a_smaller_error(tagflow):
    def run(model: str) -> dict:
        named = ("--set", f"models=[{{model='{model}'}}]", "--set", "name=contest-of-ratings")
        settings = (*named, "--set", "promotion.floor=false")  # a plain mean may be the first
        return tagflow.json("run", *SMALL[:-2], *settings)["decision"]

    assert run("UserMean")["promoted"]
    better = run("DampedBiases")
    assert better["promoted"]
    assert better["low"] < better["difference"] < better["high"] < 0
    worse = run("UserMean")
    assert not worse["promoted"]
    assert worse["difference"] == pytest.approx(-better["difference"])
    assert worse["champion"] == better["challenger"]


def test_a_folder_is_known_by_looking_and_its_items_are_told_by_title(tagflow, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    lines = [f"u{u},{(3 * u + i) % 7},{1 + (u * i) % 5},{1000 * i}" for u in range(12) for i in range(6)]
    table = folder / "ratings.csv"
    table.write_text("\n".join(["user,item,rating,time", *lines, "u1,1,many,5"]) + "\n")
    (folder / "tags.csv").write_text("user,item,tag\n" + "".join(f"u{u},{u % 7},Tag {u % 3}\n" for u in range(12)))
    (folder / "titles.csv").write_text("item,title\n" + "".join(f"{n},Book {n}\n" for n in range(7)))
    refused = tagflow("run", "--data", str(folder))
    assert refused.returncode == 1
    assert f"{table}, line 74: found 'many', expected a finite number as the rating" in refused.stderr
    by_tags = ("--set", "models=[{model='TagiCoFi'}]", "--set", "promotion={floor=false, guards={min_test=10}}")
    done = tagflow("run", "--data", str(folder), "--skip-bad-rows", *by_tags)
    assert done.returncode == 0, done.stderr
    assert "1 bad row left out, see " in done.stderr
    assert "12 held-out ratings; 95 % intervals over users" in done.stdout  # the newest of every user
    assert "→ Book " in done.stderr
    served = ("--model", "models:/ratings-mine@champion", "-k", "1")
    assert tagflow("recommend", "u3", *served).stdout.startswith("u3 → Book ")
    unknown = tagflow("recommend", "--tags", "TAG 1, jazz", *served)
    assert unknown.stdout.startswith("TAG 1, jazz → Book ")
    assert "not known, and left out: jazz" in unknown.stderr
    counted = tagflow.json("ingest", str(folder), "--skip-bad-rows")
    assert (counted["statistics"]["ratings"], counted["statistics"]["per_user"]["fewest"]) == (72, 6)
    confused = tagflow("run", "--data", str(folder), "--recipe", "nightly")
    assert "mine: holds ratings, and nightly learns from documents: take --recipe ratings" in confused.stderr


def test_a_model_of_the_wrong_kind_is_one_line(tagflow):
    done = tagflow("run", "--recipe", "ratings", "--set", "models=[{model='KNN'}]")
    assert done.returncode == 1
    assert "tagflow: KNN learns from documents, expected a model that learns from ratings: DampedBiases" in done.stderr
    assert "Traceback" not in done.stderr


def test_train_takes_a_model_of_ratings_and_tag_refuses_a_recommender(tagflow, first):
    trained = tagflow.json("train", "itemmean", *SMALL[2:-2])
    assert [row["model"] for row in trained["reports"][0]["rows"]] == ["ItemMean"]
    refused = tagflow("tag", "some text", "--model", first["model"])
    assert refused.returncode == 1
    assert "recommender" in refused.stderr
