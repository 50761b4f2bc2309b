"""A recipe plus a search: a study for every model, the best settings of each as a recipe, measured once on the test."""

from dataclasses import dataclass
from pathlib import Path

from prefect import flow

from flows.corpus_choice import choose_features
from flows.jobs import build_jobs
from flows.settings_search import Studies, search_models, settled
from flows.stages import ingest, train_and_evaluate
from tagcore.store.files import write_text
from tasks.cluster.open_clusters import open_clusters
from tasks.naming import data_name, registered_name, safe_name
from tasks.recipe import Recipe
from tasks.recipe_toml import recipe_toml
from tasks.registry.client import require_reachable
from tasks.registry.tracking import comparison_run, log_performance, log_recipe, track
from tasks.reporting.comparison import Report
from tasks.reporting.page import PageFacts, report_page
from tasks.reporting.report import asked_of_report, report
from tasks.reporting.studies import StudySummary, studies_section, summarise_study
from tasks.workspace import open_workspace

RECIPE = "tuned.toml"


@dataclass(frozen=True)
class TuneResult:
    """What a search gave."""

    studies: list[StudySummary]
    report: Report  # of the best settings, on documents that no search has seen
    recipe: str  # the file of the recipe with the best settings
    page: str


@flow(name="tune", flow_run_name="tune {recipe.name}")
def tune(recipe: Recipe) -> TuneResult:
    """Searches the settings of every model on validation documents with the first seed, after what the corpus decides,
    and measures the best on the test."""
    recipe.require_no_grid("a search is of one data set and split")
    workspace = open_workspace()
    require_reachable(workspace.registry)
    name, title = (
        registered_name(recipe.name, data_name(recipe.data)),
        f"tune {recipe.name} on {data_name(recipe.data)}",
    )
    with open_clusters(workspace.performance_report) as clusters:
        data = ingest(recipe, workspace)
        chosen = choose_features(recipe.model_copy(update={"seeds": recipe.seeds[:1]}), data, workspace)
        studies = search_models(chosen, data, workspace)
        tuned = settled(chosen, studies)
        evaluated = train_and_evaluate(tuned, build_jobs(tuned, data, workspace), workspace)
    parent = comparison_run(name, evaluated, workspace.registry)
    for model in evaluated:
        track(model, name, parent, workspace.registry)
    log_performance(clusters, [parent], workspace.registry)
    log_recipe(parent, tuned, data, workspace.registry)
    folder = workspace.report_folder(safe_name(title))
    asked = asked_of_report(recipe, data_name(recipe.data))
    made = report(title, evaluated, recipe.measures.primary, folder, parent, workspace.registry, **asked)
    summaries = _summaries(chosen, studies, folder)
    write_text(folder / RECIPE, recipe_toml(tuned.model_copy(update={"seeds": recipe.seeds})))
    facts = PageFacts(more=[studies_section(summaries, folder)])
    page = report_page(title, made, evaluated, facts, parent, workspace.registry, workspace.settings.mlflow_page)
    return TuneResult(summaries, made, str(folder / RECIPE), str(page))


def _summaries(recipe: Recipe, studies: Studies, folder: Path) -> list[StudySummary]:
    measure = recipe.tuning.measure if recipe.tuning is not None else None
    return [
        summarise_study(recipe.models[number].label, study, measure or recipe.measures.primary, folder)
        for number, study in studies.items()
        if study.best is not None  # else the data were nothing for the model, whatever it tried
    ]
