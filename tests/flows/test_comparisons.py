"""Which models of an experiment stand in one table."""

from pathlib import Path

from flows.comparisons import GridPoint, group_by_documents
from flows.grid import point_label
from flows.jobs import Job
from flows.recipes import load_recipe
from tasks.evaluate import EvaluatedModel


def experiment_over(grid):
    """The recipe of a grid, its points, and an evaluated model for every job, named by the point's number."""
    recipe = load_recipe("nightly", {"grid": grid, "models": [{"model": "KNN"}, {"model": "Popular"}]})
    points = [
        GridPoint(point, [Job(model, Path(f"features {i}"), 0) for model in point.all_models()])
        for i, point in enumerate(recipe.expand())
    ]
    evaluated = [
        EvaluatedModel(job.model.label, Path("m"), Path(f"evaluation {job.prepared.name[-1]}"), job.prepared)
        for point in points
        for job in point.jobs
    ]
    return recipe, points, evaluated


def test_only_models_on_the_same_documents_are_compared():
    grid = {"data.source": ["a", "b"], "split.train_documents": [10, 20], "features.min_df": [1, 2]}
    comparisons = group_by_documents(*experiment_over(grid))
    assert [(c.source, c.documents) for c in comparisons] == [
        ("a", "train_documents=10"),
        ("a", "train_documents=20"),
        ("b", "train_documents=10"),
        ("b", "train_documents=20"),
    ]
    second = comparisons[1]
    assert [m.label for m in second.models] == ["KNN min_df=1", "Popular min_df=1", "KNN min_df=2", "Popular min_df=2"]
    assert [m.prepared.name for m in second.models] == ["features 2", "features 2", "features 3", "features 3"]


def test_a_varied_number_places_every_model_on_a_line():
    (ten, twenty) = group_by_documents(*experiment_over({"split.train_documents": [10, 20]}))
    assert ten.lines == {"KNN": ("KNN", 10.0), "Popular": ("Popular", 10.0)}
    assert twenty.lines["KNN"] == ("KNN", 20.0)


def test_a_point_is_told_by_what_the_grid_chose():
    recipe = load_recipe("nightly", {"grid": {"data.source": ["in/a", "b"], "split.train_documents": [10]}})
    assert [point_label(recipe, point) for point in recipe.expand()] == ["a train_documents=10", "b train_documents=10"]
    plain = load_recipe("nightly", {"data.source": "a"})
    assert point_label(plain, plain) == ""
