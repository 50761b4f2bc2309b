"""A recipe over a grid of models, seeds and settings: one MLflow run each, one table for each data set and split, and
curves where a number is varied."""

from dataclasses import dataclass

from prefect import flow

from flows.comparisons import Comparison, GridPoint, group_by_documents
from flows.grid import curve_setting, point_label
from flows.settings_search import plan_jobs
from flows.stages import ingest, train_and_evaluate
from tagcore.metrics.catalogue import shown_by_rule, shown_in
from tasks.cluster.open_clusters import open_clusters
from tasks.naming import registered_name, safe_name
from tasks.recipe import Recipe
from tasks.registry.client import require_reachable
from tasks.registry.tracking import comparison_run, log_performance, track
from tasks.reporting.comparison import Report
from tasks.reporting.curves import Curves, Point, draw_curves
from tasks.reporting.page import PageFacts, report_page
from tasks.reporting.report import asked_of_report, report
from tasks.rivals.measure import measure_rivals
from tasks.workspace import Workspace, open_workspace


@dataclass(frozen=True)
class ExperimentResult:
    """What an experiment gave: a report for every data set and split, curves for every data set."""

    reports: list[Report]
    curves: list[Curves]


@flow(name="experiment", flow_run_name="experiment {recipe.name}")
def experiment(recipe: Recipe) -> ExperimentResult:
    """Trains and measures every point of the grid; a table compares models on the same documents alone."""
    workspace = open_workspace()
    require_reachable(workspace.registry)
    with open_clusters(workspace.performance_report) as clusters:
        points = [plan_point(recipe, point, workspace) for point in recipe.expand()]
        evaluated = train_and_evaluate(recipe, [job for point in points for job in point.jobs], workspace)
    comparisons = [with_rivals(recipe, c, workspace) for c in group_by_documents(recipe, points, evaluated)]
    parents = [track_comparison(recipe, comparison, workspace) for comparison in comparisons]
    log_performance(clusters, parents, workspace.registry)
    reports = [report_comparison(recipe, *pair, workspace) for pair in zip(comparisons, parents, strict=True)]
    curves = draw_all_curves(recipe, comparisons, reports, parents, workspace)
    return ExperimentResult(reports, curves)


def plan_point(recipe: Recipe, point: Recipe, workspace: Workspace) -> GridPoint:
    """Reads and prepares the data of one grid point, and chooses its models' parameters where it tunes them."""
    data = ingest(point, workspace)
    return GridPoint(point, plan_jobs(point, data, workspace, point_label(recipe, point)))


def with_rivals(recipe: Recipe, comparison: Comparison, workspace: Workspace) -> Comparison:
    """Puts other people's taggers beside ours, on the rows that the first model learnt from, for every split."""
    first = [model for model in comparison.models if model.label == comparison.models[0].label]
    splits = {model.prepared: model.seed for model in reversed(first)}
    for prepared, seed in reversed(splits.items()):
        comparison.models.extend(measure_rivals(recipe.rivals, prepared, recipe.measures, workspace, seed))
    return comparison


def track_comparison(recipe: Recipe, comparison: Comparison, workspace: Workspace) -> str:
    """Puts every model on an MLflow run of its own, under one run for the comparison, which is returned."""
    name = registered_name(recipe.name, comparison.data)
    parent = comparison_run(name, comparison.models, workspace.registry)
    for model in comparison.models:
        if not model.rival:
            track(model, name, parent, workspace.registry)
    return parent


def report_comparison(recipe: Recipe, comparison: Comparison, parent: str, workspace: Workspace) -> Report:
    """Writes the table and pictures of one comparison."""
    title = f"{recipe.name} on {comparison.data} {comparison.documents}".strip()
    folder = workspace.report_folder(safe_name(title))
    asked = asked_of_report(recipe, comparison.data)
    made = report(title, comparison.models, recipe.measures.primary, folder, parent, workspace.registry, **asked)
    address = workspace.settings.mlflow_page
    report_page(title, made, comparison.models, PageFacts(), parent, workspace.registry, address)
    return made


def draw_all_curves(
    recipe: Recipe, comparisons: list[Comparison], reports: list[Report], parents: list[str], workspace: Workspace
) -> list[Curves]:
    """Draws quality against the one number that the grid varies, for every source; nothing where there is no such."""
    setting = curve_setting(recipe)
    if setting is None:
        return []
    curves = []
    for source in dict.fromkeys(comparison.source for comparison in comparisons):
        at = [i for i, comparison in enumerate(comparisons) if comparison.source == source]
        points = [point for i in at for point in points_of(reports[i], comparisons[i])]
        known = {name for point in points for name in point.measures}
        measures = [
            recipe.measures.primary,
            *(name for name in (*shown_in("curves", recipe.data.kind), *shown_by_rule("curves")) if name in known),
        ]
        title = f"{recipe.name} on {comparisons[at[0]].data}"
        drawn = Curves(title, setting, measures, points, str(workspace.report_folder(safe_name(title))))
        curves.append(draw_curves(drawn, [parents[i] for i in at], workspace.registry))
    return curves


def points_of(made: Report, comparison: Comparison) -> list[Point]:
    """Turns the rows of a report into points of the curves."""
    rows = [row for row in made.rows if row.model in comparison.lines]
    return [Point(*comparison.lines[row.model], row.measures) for row in rows]
