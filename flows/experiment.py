"""A recipe over a grid of models, seeds and settings; one MLflow run each, one table of all, curves where a number
is varied."""

from dataclasses import dataclass, replace
from itertools import islice

from prefect import flow

from flows.grid import curve_setting, grid_labels, lines_of_models
from flows.nightly import comparison_key
from flows.stages import build_jobs, train_and_evaluate
from tagcore.metrics.catalogue import shown_by_rule
from tasks.cluster.sessions import open_clusters
from tasks.naming import data_name, performance_report, registered_name, registry_of, report_folder
from tasks.recipe import Recipe
from tasks.registry.client import require_reachable
from tasks.registry.tracking import EvaluatedModel, comparison_run, log_performance, track
from tasks.reporting.curves import Curves, Point, draw_curves
from tasks.reporting.report import Report, report
from tasks.settings import Settings, load_settings


@dataclass(frozen=True)
class ExperimentResult:
    """What an experiment gave: a report for every data set and split, curves for every data set."""

    reports: list[Report]
    curves: list[Curves]


@flow(name="experiment", flow_run_name="experiment {recipe.name}")
def experiment(recipe: Recipe) -> ExperimentResult:
    """One report for every data set and split of the grid: a table compares models on the same documents alone."""
    settings = load_settings()
    registry = registry_of(settings)
    require_reachable(registry)
    tables: dict[tuple[str, str], list[EvaluatedModel]] = {}
    places: dict[tuple[str, str], dict[str, tuple[str, float]]] = {}
    with open_clusters(performance_report(settings)) as work:
        variants = [(variant, build_jobs(variant)[1]) for variant in recipe.expand()]
        everything = iter(train_and_evaluate(recipe, [job for _, jobs in variants for job in jobs]))
    for variant, jobs in variants:
        where = (variant.data.source, " ".join(grid_labels(recipe, variant, "data", "split")))
        settled = grid_labels(recipe, variant, "features")
        found = [replace(m, label=" ".join([m.label, *settled])) for m in islice(everything, len(jobs))]
        tables.setdefault(where, []).extend(found)
        places.setdefault(where, {}).update(lines_of_models(recipe, variant))
    reports, parents = {}, {}
    for (source, documents), found in tables.items():
        name = registered_name(recipe.name, source)
        parent = comparison_run(name, comparison_key(found), registry)
        for one in found:
            track(one, name, parent, registry)
        title = f"{recipe.name} on {data_name(source)} {documents}".strip()
        folder = report_folder(settings, data_name(title))
        parents[source, documents] = parent
        reports[source, documents] = report(title, found, recipe.measures.primary, folder, parent, registry)
    log_performance(work, list(parents.values()), registry)
    curves = []
    if curve_setting(recipe) is not None:
        for source in dict.fromkeys(source for source, _ in reports):
            of = [where for where in reports if where[0] == source]
            drawn = curves_of(recipe, source, [(reports[w], places[w]) for w in of], settings)
            curves.append(draw_curves(drawn, [parents[w] for w in of], registry))
    return ExperimentResult(list(reports.values()), curves)


def curves_of(
    recipe: Recipe, source: str, reports: list[tuple[Report, dict[str, tuple[str, float]]]], settings: Settings
) -> Curves:
    """The rows of reports as points of lines: the primary measure, and macro-F1 by every labelling rule."""
    setting = curve_setting(recipe)
    assert setting is not None
    rows = [(row, places[row.model]) for made, places in reports for row in made.rows if row.model in places]
    points = [Point(line, at, row.measures) for row, (line, at) in rows]
    known = {name for point in points for name in point.measures}
    measures = [recipe.measures.primary, *(m for m in shown_by_rule("curves") if m in known)]
    title = f"{recipe.name} on {data_name(source)}"
    return Curves(title, setting, measures, points, str(report_folder(settings, data_name(title))))
