"""The job of every night: read, build features, train, measure, register, promote."""

import hashlib
from dataclasses import dataclass

from prefect import flow

from flows.stages import measured, prepared, register
from tagcore.metrics.held_out import at_k
from tasks.cache import key_of
from tasks.cluster.sessions import kept_open
from tasks.naming import data_name, performance_report, registered_name, registry_of, report_folder
from tasks.promotion import Decision, promote
from tasks.recipe import Recipe
from tasks.registry.client import reach
from tasks.registry.tracking import Measured, comparison, log_performance
from tasks.reporting.examples import Example, suggest
from tasks.reporting.report import Report, report
from tasks.settings import load_settings


@dataclass(frozen=True)
class Outcome:
    """What a night gave."""

    report: Report
    decision: Decision
    model: str  # the address of the model in service
    examples: list[Example]


@flow(name="nightly", flow_run_name="nightly {recipe.name}")
def nightly(recipe: Recipe) -> Outcome:
    """A recipe plus promotion. The challenger is the best model of the night; it must beat the one in service."""
    at_k(recipe.measures.primary)  # said now, not when there is a model in service to compare with
    settings = load_settings()
    registry, name = registry_of(settings), registered_name(recipe.name, recipe.data.source)
    reach(registry)
    with kept_open(performance_report(settings)) as work:
        corpus, jobs = prepared(recipe.model_copy(update={"seeds": recipe.seeds[:1]}))
        found = measured(recipe, jobs)
    parent = comparison(name, comparison_key(found), registry)
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
    return Outcome(table, decision, model, suggest(corpus, features, model, registry))


def comparison_key(measured: list[Measured]) -> str:
    """The same models on the same data are the same comparison."""
    keys = sorted(key_of(m.evaluation, "evaluation") for m in measured)
    return hashlib.sha256("".join(keys).encode()).hexdigest()
