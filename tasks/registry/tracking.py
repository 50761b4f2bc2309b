"""One MLflow run for every measured model, and one registered version for every model that may serve."""

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.entities import Dataset, DatasetInput, InputTag, LoggedModelInput, Metric, Param
from prefect import task

from tagcore.features.split import Split
from tagcore.metrics.catalogue import shown_in
from tagcore.metrics.evaluation import Evaluation
from tagcore.store.datasets import MANIFEST, read_manifest
from tasks.cache import is_transient, read_record, stored_key
from tasks.cluster.open_clusters import OpenClusters
from tasks.data_kinds import Kind, kind_of
from tasks.evaluate import EvaluatedModel
from tasks.naming import data_name
from tasks.progress import ProgressReporter
from tasks.recipe import Recipe
from tasks.registry.client import (
    DATA_KEY,
    EVALUATION_KEY,
    MODEL_KEY,
    TRAINING_KEY,
    Registry,
    add_version,
    find_version,
    plain,
)
from tasks.registry.model_card import measure_text
from tasks.registry.stored_once import store_once
from tasks.registry.writer import WHOLE_KEY, only_writer
from tasks.reporting.topics import topics_of
from tasks.thresholds import threshold_seconds

COMPARISON_KEY = "tagflow.comparison"


@task(
    name="comparison",
    task_run_name="open the MLflow run of {name}",
    retries=2,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def comparison_run(name: str, evaluated: list[EvaluatedModel], registry: Registry) -> str:
    """Finds or makes the MLflow run under which the runs of one comparison stand: the same models on the same data are
    the same comparison."""
    keys = sorted(stored_key(model.evaluation, "evaluation") for model in evaluated)
    key = hashlib.sha256("".join(keys).encode()).hexdigest()
    with only_writer(registry, name) as writer:
        standing = writer.client.search_runs([writer.experiment], f"tags.`{COMPARISON_KEY}` = '{key}'", max_results=1)
        if standing:
            return standing[0].info.run_id
        tags = {COMPARISON_KEY: key, WHOLE_KEY: "yes", **writer.tags}
        run = writer.client.create_run(writer.experiment, tags=tags, run_name=f"comparison {key[:8]}")
        writer.client.set_terminated(run.info.run_id)
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


def log_recipe(run: str, recipe: Recipe, data: Path, registry: Registry) -> None:
    """Puts what a night was made from on its run: the data as an MLflow dataset with source, counts and hash, and the
    recipe itself."""
    with registry.open() as client:
        client.log_inputs(run, [dataset_input(recipe, data)])
        client.log_text(run, recipe.model_dump_json(indent=1), "recipe.json")


def dataset_input(recipe: Recipe, data: Path) -> DatasetInput:
    """The stored data as MLflow knows data sets: its name, where it came from, how much it is, and its hash."""
    manifest = json.loads((data / MANIFEST).read_text(encoding="utf-8"))
    dataset = Dataset(
        name=data_name(recipe.data),
        digest=manifest["key"][:16],
        source_type="local",
        source=json.dumps({"uri": recipe.data.shown}),
        profile=json.dumps(manifest["counts"]),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "training")])


@task(
    name="track",
    task_run_name="track {evaluated.label}{evaluated.which}",
    retries=2,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def track(evaluated: EvaluatedModel, name: str, parent: str, registry: Registry) -> str:
    """Puts parameters, measures, tables and plots on a run of their own, unless such a run stands; gives its id."""
    kind, key = kind_of(evaluated.kind), stored_key(evaluated.evaluation, "evaluation")
    step = ProgressReporter(f"track {evaluated.label}{evaluated.which}")
    with only_writer(registry, name) as writer:
        whole = f"tags.`{EVALUATION_KEY}` = '{key}' and tags.`{WHOLE_KEY}` = 'yes'"
        if standing := writer.client.search_runs([writer.experiment], whole, max_results=1):
            step.tell("stands")
            return standing[0].info.run_id
        step.tell("start")
        evaluation = Evaluation.load(evaluated.evaluation)
        made = model_facts(evaluated)
        tags = {"mlflow.parentRunId": parent, EVALUATION_KEY: key, MODEL_KEY: made["model"], **writer.tags}
        tags |= training_tag(evaluated.model)
        with mlflow.start_run(
            experiment_id=writer.experiment, run_name=evaluated.label + evaluated.which, tags=tags
        ) as run:
            _log_numbers(writer.client, run.info.run_id, kind, made, evaluation)
            topics = topics_of(evaluated.model)
            _log_tables(evaluated.evaluation, evaluation)
            if kind.log_plots is not None:
                kind.log_plots(evaluation, topics)
            mlflow.log_text(kind.card(evaluated.label, name, made, evaluation, topics), "model_card.md")
            mlflow.set_tag(WHOLE_KEY, "yes")
    step.tell("made")
    return run.info.run_id


@task(
    name="register",
    task_run_name="register {evaluated.label}{evaluated.which}",
    retries=2,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def register(evaluated: EvaluatedModel, run: str, data: Path, recipe: Recipe, name: str, registry: Registry) -> str:
    """Registers a version and gives its number; that of the version that stands where this very evaluation has one."""
    kind, key = kind_of(evaluated.kind), stored_key(evaluated.evaluation, "evaluation")
    step = ProgressReporter(f"register {evaluated.label}{evaluated.which}")
    with only_writer(registry, name) as writer:
        if standing := find_version(writer.client, name, key):
            step.tell("stands")
            return str(standing.version)
        step.tell("start")
        made = model_facts(evaluated)
        evaluation, topics = Evaluation.load(evaluated.evaluation), topics_of(evaluated.model)
        card = f"{kind.card(evaluated.label, name, made, evaluation, topics)}\n{_source_section(recipe, data)}"
        example = kind.in_service.sample_input(data, evaluated.prepared)
        with mlflow.start_run(run_id=run, tags=writer.tags):
            model = kind.in_service.served.log(evaluated.model, example, {"data": name, "label": evaluated.label})
            writer.client.log_inputs(run, [dataset_input(recipe, data)], [LoggedModelInput(model)])
        tags = {EVALUATION_KEY: key, MODEL_KEY: made["model"], DATA_KEY: data.name, "label": evaluated.label}
        tags |= {"source": recipe.data.shown, "quality": _quality(evaluation), **_made_of(evaluated, recipe, data)}
        version = add_version(writer.client, name, model, tags | training_tag(evaluated.model), card)
        store_once(registry, model, evaluated.model)
    step.tell("made")
    return version


def training_tag(model: Path) -> dict[str, str]:
    """Whether a night's model was a warm start or trained from nothing, and why; nothing for models of no night."""
    remark = read_record(model).get("remark", "")
    return {TRAINING_KEY: remark[:5000]} if remark else {}


def log_night(run: str, tags: dict[str, str], registry: Registry) -> None:
    """Puts what a night decided of all its models on its run."""
    with registry.open() as client:
        for name, value in tags.items():
            client.set_tag(run, name, value[:5000])


def _source_section(recipe: Recipe, data: Path) -> str:
    """Markdown: where the data came from, and how much it is."""
    counts = json.loads((data / MANIFEST).read_text(encoding="utf-8"))["counts"]
    told = ", ".join(f"{n:,} {what}" for what, n in counts.items())
    return f"## Made from\n\n`{recipe.data.shown}`: {told}. Recipe `{recipe.name}`, stored as `{data.name}`.\n"


def _made_of(evaluated: EvaluatedModel, recipe: Recipe, data: Path) -> dict[str, str]:
    """What a version was made from, for whoever browses the registry: counts, split, vectoriser, recipe."""
    prepared = json.loads((evaluated.prepared / MANIFEST).read_text(encoding="utf-8"))
    counts = json.loads((data / MANIFEST).read_text(encoding="utf-8"))["counts"]
    parameters = dict(prepared["parameters"])
    if "split" in parameters:  # whose exceptions may be thousands of ids
        parameters["split"] = {key: value for key, value in parameters["split"].items() if key != "exceptions"}
    told = {"data": counts, **parameters, "recipe": recipe.model_dump(exclude_defaults=True)}
    return {f"made.{key}": json.dumps(value, default=str)[:5000] for key, value in told.items()}


def read_split(tags: dict[str, str]) -> Split | None:
    """The split that a version was made with; None for ratings and classes, and for versions of other days."""
    with suppress(KeyError, ValueError, TypeError):
        return Split(**json.loads(tags["made.split"]) | {"exceptions": ()})
    return None


def _quality(evaluation: Evaluation) -> str:
    """The measures of the card in one line, for whoever looks over what is in service."""
    shown = [name for name in shown_in("model card", evaluation.LEARNS_FROM) if name in evaluation.summary][:4]
    of = f"on {evaluation.tested:,} held-out {evaluation.LEARNS_FROM}"
    return ", ".join(f"{name} {measure_text(evaluation.summary[name])}" for name in shown) + f" {of}"


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
    metrics |= {"train_seconds": made["seconds"], f"test_{evaluation.HELD_OUT}": evaluation.tested}
    if made["threshold_seconds"] is not None:
        metrics["threshold_seconds"] = made["threshold_seconds"]
    client.log_batch(
        run,
        metrics=[Metric(k, float(v), 0, 0) for k, v in metrics.items() if v == v],
        params=[Param(k, plain(v)) for k, v in params.items()],
    )


def _log_tables(folder: Path, evaluation: Evaluation) -> None:
    """Logs the measures with their intervals as a table that MLflow shows, and all tables as they are stored."""
    measures = pd.DataFrame([{"measure": name, **asdict(m)} for name, m in evaluation.summary.items()])
    mlflow.log_table(measures, "measures.json")
    for name in ("evaluation.json", *(f"{table}.parquet" for table in evaluation.TABLES)):
        mlflow.log_artifact(str(folder / name), "evaluation")


def _metric_name(name: str) -> str:
    """MLflow allows no @, % or brackets: P@1 is P_at_1, AUC (row) is AUC_row, error % is error_percent."""
    return name.replace("@", "_at_").replace(" %", "_percent").replace(" (", "_").replace(")", "")
