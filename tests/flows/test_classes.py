"""Classifiers on rows of numbers, as a user sees them: random splits in one table, one model alone, no service."""

SMALL = ("--set", "data.documents=120", "--set", "seeds=[0,1,2]", "--set", "split.redraw=true")
MODELS = "models=[{model='IVM',params={search_steps=1}},{model='KernelSVM'}]"


def test_an_experiment_compares_classifiers_over_random_splits(tagflow):
    made = tagflow.json("experiment", "classes", *SMALL, "--set", MODELS)["reports"][0]
    assert made["columns"] == ["error %", "log loss", "log evidence", "train CPU s", "test CPU s"]
    assert "3 random splits with" in made["about"]
    assert "held-out rows each; 95 % intervals over splits (Student's t); best first by error %." in made["about"]
    rows = {row["model"]: row["measures"] for row in made["rows"]}
    assert set(rows) == {"IVM search_steps=1", "KernelSVM"}
    assert all(0 <= measures["error %"]["value"] < 70 for measures in rows.values())
    assert "log evidence" in rows["IVM search_steps=1"]
    assert "log evidence" not in rows["KernelSVM"]
    again = tagflow.json("experiment", "classes", *SMALL, "--set", MODELS)
    assert again["account"]["work_seconds"] == 0
    assert again["reports"][0]["rows"] == made["rows"]


def test_one_model_is_trained_and_none_is_put_into_service(tagflow):
    made = tagflow.json("train", "kernelsvm", "--set", "data.documents=150", "-p", "C=1.0")["reports"][0]
    assert [row["model"] for row in made["rows"]] == ["KernelSVM C=1.0"]
    refused = tagflow("run", "--recipe", "classes")
    assert refused.returncode != 0
    assert "models that learn from classes have no champion: compare them by an experiment" in refused.stderr
