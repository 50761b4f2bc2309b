"""The job of every night: read, prepare, train, measure, register, promote; the same for documents and for ratings.

At what hour it starts: `infra/prefect.yaml`.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from prefect import flow

from flows.corpus_choice import choose_features
from flows.jobs import Job, build_jobs
from flows.settings_search import tune_models
from flows.stages import ingest, register, train_and_evaluate
from tagcore.metrics.catalogue import champion_measure
from tasks.cache import read_record
from tasks.cluster.open_clusters import open_clusters
from tasks.data_kinds import kind_of
from tasks.evaluate import EvaluatedModel
from tasks.naming import data_name, registered_name
from tasks.nights.hold_out import HEAD, quality_by_hold_out
from tasks.nights.tonight import Night, open_night
from tasks.nothing_to_redo import StandingNight, keep_record, premises_of, results_in
from tasks.notify import notify, tell_of_failure
from tasks.progress import noted_steps
from tasks.promotion.decision_record import Decision
from tasks.promotion.promote import promote
from tasks.ratings.examples import RecommendationExample
from tasks.recipe import Recipe
from tasks.registry.client import require_reachable
from tasks.registry.in_service import last_withdrawal
from tasks.registry.tracking import comparison_run, log_night, log_performance, log_recipe
from tasks.registry.writer import only_run
from tasks.reporting.comparison import Report
from tasks.reporting.examples import TagExample
from tasks.reporting.page import PageFacts, Section, report_page, sorting_table
from tasks.reporting.report import asked_of_report, report
from tasks.workspace import Workspace, open_workspace

PageTable = tuple[str, list[str], list[list[str]]]  # title, head, rows


@dataclass(frozen=True)
class NightlyResult:
    """What a night gave."""

    report: Report
    decision: Decision
    model: str | None  # the address of the model in service
    examples: list[TagExample] | list[RecommendationExample]
    page: str  # the report as one file that a browser opens
    tables: list[PageTable] = field(default_factory=list)  # of a night among nights: how models were trained, and why


@flow(name="nightly", flow_run_name="{recipe.name} on {recipe.data.shown}")
def nightly(recipe: Recipe, full: bool = False) -> NightlyResult:
    """Follows a recipe with its first seed, and promotes the best model of the night if it beats the one in service.

    Models go on from those of the night before where they can and may, unless a `full` retrain is asked for. One night
    at a time on one corpus: another waits for its end. A night that fails or is refused is told to whoever the settings
    name.
    """
    workspace = open_workspace()
    name = registered_name(recipe.name, data_name(recipe.data))
    with tell_of_failure(workspace.settings, name):
        recipe.require_no_grid()
        champion_measure(recipe.measures.primary, recipe.data.kind)  # said now, not when there is one to compare with
        require_reachable(workspace.registry)
        workspace.cluster.backend.require_reachable()
        premises = premises_of(recipe)  # before anything is read: what changes from here on is for the next night
        with only_run(workspace.registry, name), noted_steps() as steps:
            night, stored = follow(recipe.model_copy(update={"seeds": recipe.seeds[:1]}), name, workspace, full)
            if premises is not None:
                examples = [example.told() for example in night.examples]
                record = StandingNight(premises, results_in(stored), steps, asdict(night), examples)
                keep_record(workspace.report_folder(name), record)
    if night.decision.is_refusal:
        notify(workspace.settings, "refused", asdict(night.decision))
    return night


def follow(recipe: Recipe, name: str, workspace: Workspace, full: bool = False) -> tuple[NightlyResult, list[Path]]:
    """Reads, prepares, trains, measures, registers, decides and reports; also gives the folders of what was stored.

    A night that a guard refused leaves nothing for the next one to go on from.
    """
    primary, kind, registry = recipe.measures.primary, kind_of(recipe.data.kind), workspace.registry
    with open_clusters(workspace.performance_report) as clusters:
        data = ingest(recipe, workspace)
        tonight = None
        if kind.grows:
            tonight = open_night(name, recipe, data, full, workspace, rolled_back=last_withdrawal(registry, name))
        recipe = recipe if tonight is None else recipe.model_copy(update={"split": tonight.split})
        recipe = tune_models(choose_features(recipe, data, workspace), data, workspace)
        jobs = build_jobs(recipe, data, workspace, night=tonight)
        evaluated = train_and_evaluate(recipe, jobs, workspace)
    parent = comparison_run(name, evaluated, registry)
    log_performance(clusters, [parent], registry)
    log_recipe(parent, recipe, data, registry)
    challenger = register(recipe, data, evaluated, parent, workspace)
    title = f"{recipe.name} on {data_name(recipe.data)}"
    asked = asked_of_report(recipe, data_name(recipe.data))
    table = report(title, evaluated, primary, workspace.report_folder(name), parent, registry, **asked)
    ledger = None if tonight is None else tonight.ledger
    decision = promote(name, challenger, data, primary, recipe.promotion, registry, ledger)
    tables = [] if tonight is None else end_night(tonight, jobs, evaluated, decision, primary)
    if tonight is not None:
        log_night(parent, tonight.tags, registry)
    champion = None if decision.in_service is None else f"models:/{name}@champion"
    examples = [] if champion is None else kind.in_service.examples(data, evaluated[0].prepared, champion, registry)
    page = report_page(
        title, table, evaluated, facts_of(decision, examples, tables), parent, registry, workspace.settings.mlflow_page
    )
    stored = [data, *(folder for one in evaluated for folder in (one.prepared, one.model, one.evaluation))]
    return NightlyResult(table, decision, champion, examples, str(page), tables), stored


def end_night(
    tonight: Night, jobs: list[Job], evaluated: list[EvaluatedModel], decision: Decision, measure: str
) -> list[PageTable]:
    """Leaves tonight's models for the next night to go on from, unless a guard refused them; gives the tables of how
    they were trained and of how good they are on old and new documents."""
    for job, model in zip(jobs, evaluated, strict=True):
        tonight.trained(job.model, job.seed, model.model)
    if all(guard.passed for guard in decision.guards):
        tonight.end()
    trained = [[model.label, read_record(model.model).get("remark", "")] for model in evaluated]
    return [
        ("How models were trained", ["model", "how"], trained),
        ("Go on, or start over", ["since words were weighed", "outcome", "found", "at most"], tonight.limit_rows()),
        (f"{measure} on old and new documents", HEAD, quality_by_hold_out(evaluated, tonight.ledger, measure)),
    ]


def facts_of(decision: Decision, examples: list[Any], tables: list[PageTable]) -> PageFacts:
    """What the page tells of a decision."""
    told = f"{decision.name} version {decision.challenger} ({decision.model}): {decision.verdict}, {decision.reason}"
    guards = [(guard.name, guard.passed, guard.found, guard.needed) for guard in decision.guards]
    more = [Section(title, sorting_table(head, rows, "words")) for title, head, rows in tables]
    return PageFacts(told, guards, examples, decision.in_service, more)
