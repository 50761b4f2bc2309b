"""One MLflow run for every measured model, and one registered version for every model that may serve."""

import hashlib
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities import Metric, Param, RunTag
from prefect import task

from tagcore.metrics.evaluation import Evaluation
from tagcore.store.datasets import read_manifest
from tasks.cache import is_transient, read_record, stored_key
from tasks.cluster.sessions import OpenClusters
from tasks.evaluate import EvaluatedModel
from tasks.kinds import Kind, kind_of
from tasks.progress import ProgressReporter
from tasks.registry.client import EVALUATION_KEY, MODEL_KEY, Registry, add_version, find_version, plain
from tasks.reporting.topics import topics_of
from tasks.thresholds import threshold_seconds

COMPARISON_KEY = "tagflow.comparison"


@task(name="comparison", retries=2, retry_delay_seconds=2, retry_condition_fn=is_transient)
def comparison_run(name: str, evaluated: list[EvaluatedModel], registry: Registry) -> str:
    """Finds or makes the MLflow run under which the runs of one comparison stand: the same models on the same data are
    the same comparison."""
    keys = sorted(stored_key(model.evaluation, "evaluation") for model in evaluated)
    key = hashlib.sha256("".join(keys).encode()).hexdigest()
    with registry.open() as client:
        experiment = registry.experiment(client, name)
        if standing := client.search_runs([experiment], f"tags.`{COMPARISON_KEY}` = '{key}'", max_results=1):
            return standing[0].info.run_id
        run = client.create_run(experiment, tags={COMPARISON_KEY: key}, run_name=f"comparison {key[:8]}")
        client.set_terminated(run.info.run_id)
        return run.info.run_id


def log_performance(clusters: OpenClusters, parents: list[str], registry: Registry) -> None:
    """Puts what a run did on clusters, if it did, onto the runs of its comparisons: dashboards and Dask's report."""
    if not clusters.dashboards:
        return
    with registry.open() as client:
        for parent in parents:
            client.set_tag(parent, "dask.dashboard", ", ".join(clusters.dashboards))
            if clusters.report.exists():
                client.log_artifact(parent, str(clusters.report))
    clusters.report.unlink(missing_ok=True)


@task(
    name="track",
    task_run_name="track {evaluated.label}",
    retries=2,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def track(evaluated: EvaluatedModel, name: str, parent: str, registry: Registry) -> str:
    """Puts parameters, measures, tables and plots on a run of their own, unless such a run stands; gives its id."""
    kind, key = kind_of(evaluated.kind), stored_key(evaluated.evaluation, "evaluation")
    step = ProgressReporter(f"track {evaluated.label}")
    with registry.open() as client:
        experiment = registry.experiment(client, name)
        whole = f"tags.`{EVALUATION_KEY}` = '{key}' and attributes.status = 'FINISHED'"
        if standing := client.search_runs([experiment], whole, max_results=1):
            step.tell("stands")
            return standing[0].info.run_id
        step.tell("start")
        evaluation = Evaluation.load(evaluated.evaluation)
        made = model_facts(evaluated)
        tags = {"mlflow.parentRunId": parent, EVALUATION_KEY: key, MODEL_KEY: made["model"]}
        with mlflow.start_run(experiment_id=experiment, run_name=evaluated.label, tags=tags) as run:
            _log_numbers(client, run.info.run_id, kind, made, evaluation)
            topics = topics_of(evaluated.model)
            _log_tables(evaluated.evaluation, evaluation)
            if kind.log_plots is not None:
                kind.log_plots(evaluation, topics)
            mlflow.log_text(kind.card(evaluated.label, name, made, evaluation, topics), "model_card.md")
    step.tell("made")
    return run.info.run_id


@task(
    name="register",
    task_run_name="register {evaluated.label}",
    retries=2,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def register(evaluated: EvaluatedModel, run: str, data: Path, name: str, registry: Registry) -> str:
    """Registers a version and gives its number; that of the version that stands where this very evaluation has one."""
    kind, key = kind_of(evaluated.kind), stored_key(evaluated.evaluation, "evaluation")
    step = ProgressReporter(f"register {evaluated.label}")
    with registry.open() as client:
        if standing := find_version(client, name, key):
            step.tell("stands")
            return str(standing.version)
        step.tell("start")
        made = model_facts(evaluated)
        evaluation, topics = Evaluation.load(evaluated.evaluation), topics_of(evaluated.model)
        card = kind.card(evaluated.label, name, made, evaluation, topics)
        example = kind.sample_input(data, evaluated.prepared)
        with mlflow.start_run(run_id=run):
            model = kind.served.log(evaluated.model, example, {"data": name, "label": evaluated.label})
        tags = {EVALUATION_KEY: key, MODEL_KEY: made["model"], "label": evaluated.label}
        version = add_version(client, name, model, tags, card)
    step.tell("made")
    return version


def model_facts(evaluated: EvaluatedModel) -> dict[str, Any]:
    """Collects what is known of a model besides its quality."""
    kind = kind_of(evaluated.kind)
    manifest = read_manifest(evaluated.model, kind.model_kind)
    parameters = manifest["parameters"]
    return {
        "class": parameters["model"],
        "params": parameters["params"],
        "seed": parameters["seed"],
        "model": manifest["key"],
        kind.prepared_input: manifest["inputs"][kind.prepared_input],
        "seconds": read_record(evaluated.model).get("seconds", float("nan")),
        "threshold_seconds": threshold_seconds(evaluated.model),
        **kind.facts(evaluated),
    }


def _log_numbers(
    client: mlflow.MlflowClient, run: str, kind: Kind, made: dict[str, Any], evaluation: Evaluation
) -> None:
    params = {**made["params"], **{k: made[k] for k in ("class", "seed", *kind.logged_facts)}}
    metrics = {_metric_name(name): m.value for name, m in evaluation.summary.items()}
    metrics |= {"train_seconds": made["seconds"], f"test_{evaluation.LEARNS_FROM}": evaluation.tested}
    if made["threshold_seconds"] is not None:
        metrics["threshold_seconds"] = made["threshold_seconds"]
    intervals = {_metric_name(n): m for n, m in evaluation.summary.items() if m.low == m.low}
    client.log_batch(
        run,
        metrics=[Metric(k, float(v), 0, 0) for k, v in metrics.items() if v == v],
        params=[Param(k, plain(v)) for k, v in params.items()],
        tags=[RunTag(f"interval.{k}", f"{m.low:.4f} to {m.high:.4f}") for k, m in intervals.items()],
    )


def _log_tables(folder: Path, evaluation: Evaluation) -> None:
    for name in ("evaluation.json", *(f"{table}.parquet" for table in evaluation.TABLES)):
        mlflow.log_artifact(str(folder / name), "evaluation")


def _metric_name(name: str) -> str:
    """MLflow allows no @ or brackets: P@1 is P_at_1, AUC (row) is AUC_row."""
    return name.replace("@", "_at_").replace(" (", "_").replace(")", "")
