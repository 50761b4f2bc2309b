"""The job of every night: read, build features, train, measure, register, promote."""

import hashlib
from dataclasses import dataclass

from prefect import flow

from flows.stages import build_jobs, register, train_and_evaluate
from tagcore.metrics.held_out import parse_measure
from tasks.cache import stored_key
from tasks.cluster.sessions import open_clusters
from tasks.naming import data_name, performance_report, registered_name, registry_of, report_folder
from tasks.promotion import Decision, promote
from tasks.recipe import Recipe
from tasks.registry.client import require_reachable
from tasks.registry.tracking import EvaluatedModel, comparison_run, log_performance
from tasks.reporting.examples import Example, suggest
from tasks.reporting.report import Report, report
from tasks.settings import load_settings


@dataclass(frozen=True)
class NightlyResult:
    """What a night gave."""

    report: Report
    decision: Decision
    model: str  # the address of the model in service
    examples: list[Example]


@flow(name="nightly", flow_run_name="nightly {recipe.name}")
def nightly(recipe: Recipe) -> NightlyResult:
    """A recipe plus promotion. The challenger is the best model of the night; it must beat the one in service."""
    parse_measure(recipe.measures.primary)  # said now, not when there is a model in service to compare with
    settings = load_settings()
    registry, name = registry_of(settings), registered_name(recipe.name, recipe.data.source)
    require_reachable(registry)
    with open_clusters(performance_report(settings)) as work:
        corpus, jobs = build_jobs(recipe.model_copy(update={"seeds": recipe.seeds[:1]}))
        found = train_and_evaluate(recipe, jobs)
    parent = comparison_run(name, comparison_key(found), registry)
    log_performance(work, [parent], registry)
    primary = recipe.measures.primary
    versions = register(recipe, corpus, found, parent)
    title, folder = f"{recipe.name} on {data_name(recipe.data.source)}", report_folder(settings, name)
    table = report(title, found, primary, folder, parent, registry)
    best = next(i for i, m in enumerate(found) if m.label == table.rows[0].model)
    rule = recipe.promotion
    # the best of several on these documents is partly the luckiest: each comparison is held to a stricter level
    level = 1 - (1 - rule.level) / len(found)
    features, evaluation = found[best].features, found[best].evaluation
    decision = promote(name, versions[best], evaluation, corpus, features, primary, level, rule.margin, registry)
    model = f"models:/{name}@champion"
    return NightlyResult(table, decision, model, suggest(corpus, features, model, registry))


def comparison_key(measured: list[EvaluatedModel]) -> str:
    """The same models on the same data are the same comparison."""
    keys = sorted(stored_key(m.evaluation, "evaluation") for m in measured)
    return hashlib.sha256("".join(keys).encode()).hexdigest()
