"""The job of every night: read, prepare, train, measure, register, promote; the same for documents and for ratings."""

from dataclasses import dataclass

from prefect import flow

from flows.stages import build_jobs, ingest, register, train_and_evaluate
from flows.tuning import tune_models
from tagcore.metrics.catalogue import champion_measure
from tasks.cluster.sessions import open_clusters
from tasks.kinds import kind_of
from tasks.naming import data_name, registered_name
from tasks.promotion import Decision, promote
from tasks.ratings.examples import RecommendationExample
from tasks.recipe import Recipe
from tasks.registry.client import require_reachable
from tasks.registry.tracking import comparison_run, log_performance
from tasks.reporting.examples import TagExample
from tasks.reporting.report import Report, report
from tasks.workspace import open_workspace


@dataclass(frozen=True)
class NightlyResult:
    """What a night gave."""

    report: Report
    decision: Decision
    model: str  # the address of the model in service
    examples: list[TagExample] | list[RecommendationExample]


@flow(name="nightly", flow_run_name="nightly {recipe.name}")
def nightly(recipe: Recipe) -> NightlyResult:
    """Follows a recipe with its first seed, and promotes the best model of the night if it beats the one in service."""
    primary, kind = recipe.measures.primary, kind_of(recipe.data.kind)
    champion_measure(primary, recipe.data.kind)  # said now, not when there is a model in service to compare with
    workspace = open_workspace()
    registry, name = workspace.registry, registered_name(recipe.name, data_name(recipe.data))
    require_reachable(registry)
    recipe = recipe.model_copy(update={"seeds": recipe.seeds[:1]})
    with open_clusters(workspace.performance_report) as clusters:
        data = ingest(recipe, workspace)
        recipe = tune_models(recipe, data, workspace)
        evaluated = train_and_evaluate(recipe, build_jobs(recipe, data, workspace), workspace)
    parent = comparison_run(name, evaluated, registry)
    log_performance(clusters, [parent], registry)
    candidates = register(recipe, data, evaluated, parent, workspace)
    title = f"{recipe.name} on {data_name(recipe.data)}"
    against = recipe.measures.against
    table = report(title, evaluated, primary, workspace.report_folder(name), parent, registry, against=against)
    decision = promote(name, candidates, data, primary, recipe.promotion, registry)
    champion = f"models:/{name}@champion"
    return NightlyResult(
        table, decision, champion, kind.in_service.examples(data, evaluated[0].prepared, champion, registry)
    )
