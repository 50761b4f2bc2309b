"""A recipe over a grid of models, seeds and settings; one MLflow run each, one table of all."""

from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path

from prefect import flow

from flows.nightly import comparison_key
from flows.recipe import Recipe
from flows.stages import measured_models
from tasks.places import data_name, registered_name, registry_of, report_folder
from tasks.registry import reach
from tasks.report import Report, report
from tasks.settings import load_settings
from tasks.track import Measured, comparison, track


@flow(name="experiment", flow_run_name="experiment {recipe.name}")
def experiment(recipe: Recipe) -> list[Report]:
    """One report for every data set and split of the grid: a table compares models on the same documents alone."""
    settings = load_settings()
    registry = registry_of(settings)
    reach(registry)
    tables: dict[tuple[str, str], list[tuple[Path, Measured]]] = {}
    for variant in recipe.expand():
        _, features, measured = measured_models(variant)
        where = (variant.data.source, " ".join(varied(recipe, variant, "data") + varied(recipe, variant, "split")))
        tables.setdefault(where, []).extend(
            (features, replace(m, label=" ".join([m.label, *varied(recipe, variant, "features")]))) for m in measured
        )
    reports = []
    for (source, documents), entries in tables.items():
        name = registered_name(recipe.name, source)
        found = [m for _, m in entries]
        parent = comparison(name, comparison_key(found), registry)
        for features, one in entries:
            track(one, features, name, parent, registry)
        title = f"{recipe.name} on {data_name(source)} {documents}".strip()
        folder = report_folder(settings, data_name(title))
        reports.append(report(title, found, recipe.measures.primary, folder, parent, registry))
    return reports


def varied(recipe: Recipe, variant: Recipe, group: str) -> list[str]:
    """The settings of one group that this grid point chose, as part of a label; a source has its own name."""
    plain = variant.model_dump()
    paths = [path.split(".") for path in recipe.grid if path.startswith(f"{group}.") and path != "data.source"]
    return [f"{'.'.join(path[1:])}={reduce(getitem, path, plain)}" for path in paths]
