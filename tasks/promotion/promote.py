"""The champion moves only if every guard holds and the challenger is better by the recipe's rule."""

from dataclasses import replace
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion
from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.context import TaskRunContext

from tasks.cache import is_transient
from tasks.naming import artifact_key
from tasks.nothing_to_redo import IN_SERVICE
from tasks.progress import ProgressReporter
from tasks.promotion.contest import Champion, Contest, hold_contest
from tasks.promotion.decision_record import Candidate, Decision
from tasks.promotion.rules import Verdict, above_floor, beats_champion
from tasks.recipe_settings import PromotionSettings
from tasks.registry.client import (
    CHALLENGER,
    CHAMPION,
    DATA_KEY,
    MODEL_KEY,
    Registry,
    RegistryBusy,
    version_by_alias,
)
from tasks.registry.in_service import WITHDRAWN, put_into_service
from tasks.registry.tracking import read_split
from tasks.registry.writer import only_writer

_RULE = "\n---\n\n"  # between the decision and the card
_LONGEST = 5000  # of a description in MLflow's tables


@task(name="promote", task_run_name="promote {name}", retries=2, retry_delay_seconds=2, retry_condition_fn=is_transient)
def promote(
    name: str,
    challenger: Candidate,
    data: Path,
    measure: str,
    settings: PromotionSettings,
    registry: Registry,
    ledger: Path | None = None,
) -> Decision:
    """Compares the challenger with the champion, moves the aliases, and records the decision with its numbers and
    guards as tags of the version and as artifacts of the run."""
    version, label = challenger.version, challenger.evaluated.label
    step = ProgressReporter(f"compare {name} version {version} with the model in service")
    step.tell("start")
    with only_writer(registry, name) as writer:
        client = writer.client
        client.set_registered_model_alias(name, CHALLENGER, version)
        champion = version_by_alias(client, name, CHAMPION)
        before = None if champion is None else str(champion.version)
        if before == version:
            step.tell("stands")
            return Decision(name, label, version, before, False, IN_SERVICE, measure)
        tags = client.get_model_version(name, version).tags
        if champion is not None and champion.tags.get(MODEL_KEY) == tags.get(MODEL_KEY):
            decision = Decision(name, label, version, before, False, "it is the same model", measure)
        elif tags.get(WITHDRAWN):
            reason = f"it was rolled back by hand; `tagflow promote {name} {version}` puts it back into service"
            decision = Decision(name, label, version, before, False, reason, measure)
        else:
            in_service = None if champion is None else _in_service(registry, champion, data.parent)
            contest = hold_contest(challenger.evaluated, in_service, data, measure, settings, ledger)
            decision = decide(name, challenger, before, contest, measure, settings)
        now = version_by_alias(client, name, CHAMPION)
        if before != (None if now is None else str(now.version)):
            raise RegistryBusy(f"{name}: another run has moved {CHAMPION} meanwhile")  # to be compared with that one
        for key, value in decision.tags.items():
            client.set_model_version_tag(name, version, key, value[:5000])
        _describe(client, decision)
        if decision.promoted:
            put_into_service(client, name, version, decision.reason)
    step.remark = f"{decision.verdict}, {decision.reason}"
    step.tell("made")
    _show(decision)
    return decision


def _describe(client: MlflowClient, decision: Decision) -> None:
    """Puts the decision before the card of the version, in the place of an earlier one."""
    card = (client.get_model_version(decision.name, decision.challenger).description or "").rpartition(_RULE)[2]
    page = f"{decision.markdown()}{_RULE}{card}"[:_LONGEST]
    client.update_model_version(decision.name, decision.challenger, page)


def _show(decision: Decision) -> None:
    """The decision as artifacts of the Prefect run, where there is one."""
    if TaskRunContext.get() is None:
        return
    told = f"version {decision.challenger} ({decision.model}): {decision.verdict}, {decision.reason}"
    if decision.guards:
        rows = [{"guard": g.name, "passed": g.passed, "found": g.found, "needed": g.needed} for g in decision.guards]
        create_table_artifact(rows, key=artifact_key("guards", decision.name), description=told)
    create_markdown_artifact(decision.markdown(), key=artifact_key("decision", decision.name), description=told)


def decide(
    name: str, challenger: Candidate, champion: str | None, contest: Contest, measure: str, settings: PromotionSettings
) -> Decision:
    """Asks the guards first, then the rule; without a champion, the floor."""
    verdict = Verdict(True, "no model was in service")
    if contest.theirs is not None:
        verdict = beats_champion(
            contest.ours, contest.theirs, measure, settings, challenger.chosen_from, contest.able, contest.units
        )
    if settings.floor and verdict.passed:
        floor = above_floor(contest.ours, contest.floor, measure, settings.level, contest.baseline, contest.units)
        verdict = verdict if floor.passed else replace(floor, test=verdict.test)
    refused = [guard for guard in contest.guards if not guard.passed]
    reason = "; ".join(filter(None, (verdict.reason, challenger.why)))
    if refused:
        reason = "; ".join(f"{guard.name}: {guard.found}, needed {guard.needed}" for guard in refused)
    test = verdict.test if contest.theirs is not None else None
    numbers = () if test is None else (test.difference, test.low, test.high, test.p_value, test.n)
    passed = verdict.passed and not refused
    decision = Decision(
        name, challenger.evaluated.label, challenger.version, champion, passed, reason, measure, *numbers
    )
    return replace(decision, guards=contest.guards)


def _in_service(registry: Registry, version: ModelVersion, store: Path) -> Champion:
    """The champion, the data that it was made from if they are still in the store, and its split if it is told."""
    folder = version.tags.get(DATA_KEY)
    data = store / folder if folder and (store / folder).is_dir() else None
    return Champion(registry.fetch(f"models:/{version.name}/{version.version}"), data, read_split(version.tags))
