"""Which models of an experiment may stand in one table: those that were measured on the same documents."""

from dataclasses import dataclass, field, replace
from itertools import islice

from flows.grid import grid_labels, lines_of_models
from flows.jobs import Job
from tasks.evaluate import EvaluatedModel
from tasks.naming import data_name
from tasks.recipe import Recipe


@dataclass(frozen=True)
class GridPoint:
    """One point of a recipe's grid, and what is to be trained there."""

    recipe: Recipe
    jobs: list[Job]


@dataclass(frozen=True)
class Comparison:
    """Models that were measured on the same documents of one source."""

    source: str
    data: str  # what the source is called
    documents: str  # what the grid chose of data and split, such as train_documents=500; empty where it chose nothing
    models: list[EvaluatedModel] = field(default_factory=list)
    lines: dict[str, tuple[str, float]] = field(default_factory=dict)  # label -> (its line of the curves, its place)


def group_by_documents(recipe: Recipe, points: list[GridPoint], evaluated: list[EvaluatedModel]) -> list[Comparison]:
    """Gathers the evaluated models of all points, given in the order of their jobs, into comparisons; a label also
    names the features that the grid chose."""
    comparisons: dict[tuple[str, str], Comparison] = {}
    remaining = iter(evaluated)
    for point in points:
        source, documents = point.recipe.data.shown, " ".join(grid_labels(recipe, point.recipe, "data", "split"))
        new = Comparison(source, data_name(point.recipe.data), documents)
        comparison = comparisons.setdefault((source, documents), new)
        chosen = grid_labels(recipe, point.recipe, "features")
        models = islice(remaining, len(point.jobs))
        comparison.models.extend(replace(model, label=" ".join([model.label, *chosen])) for model in models)
        comparison.lines.update(lines_of_models(recipe, point.recipe))
    return list(comparisons.values())
