"""What expires: old results, versions, runs, reports and crawled pages; never a champion or a challenger, what it was
made from, the version that a rollback leads to, or what the next night goes on from."""

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import mlflow
from mlflow.entities.model_registry import ModelVersion

from tagcore.store.datasets import MANIFEST
from tasks.ingest import CRAWLS
from tasks.nights.record import NIGHTS, read_nights
from tasks.registry.client import CHAMPION, DATA_KEY, EVALUATION_KEY, MODEL_KEY
from tasks.registry.in_service import BEFORE
from tasks.workspace import Workspace


@dataclass(frozen=True)
class Expired:
    """One thing that is older than the limit, and that nothing in service needs."""

    kind: str  # "result", "version", "run", "report", "study", "crawl" or "pages"
    name: str
    bytes: int
    age_days: float


def clean(workspace: Workspace, older_than: float, dry_run: bool) -> list[Expired]:
    """Removes what has been there for `older_than` seconds, or only tells it; whatever a champion needs stays."""
    before = time.time() - older_than
    expired = []
    with workspace.registry.open() as client:
        kept = _in_use(client)
        for one, remove in (*_versions(client, before, kept), *_runs(client, before, kept)):
            expired.append(one)
            if not dry_run:
                remove()
        kept.folders.update(_of_last_nights(workspace.settings.state / NIGHTS, kept))
        needed = _needed_folders(workspace.store, kept)
    state = workspace.settings.state
    for kind, folder in (("result", workspace.store), ("report", state / "reports"), ("study", state / "studies")):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.name not in needed and (changed := _changed(path)) < before:
                expired.append(Expired(kind, path.name, _bytes(path), (time.time() - changed) / 86400))
                if not dry_run:
                    shutil.rmtree(path, ignore_errors=True)
    for one, path in _crawls(workspace.settings.state / CRAWLS, before, kept):
        expired.append(one)
        if not dry_run:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return expired


def seconds_of(duration: str) -> float:
    """Reads 30d, 12h or 4w; ValueError for anything else."""
    units = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?[hdw]", duration):
        return float(duration[:-1]) * units[duration[-1]]
    raise ValueError(f"{duration!r}: expected a time such as 30d, 12h or 4w")


@dataclass(frozen=True)
class _Kept:
    versions: set[tuple[str, str]]  # names and numbers that bear an alias
    runs: set[str]
    keys: set[str]  # of stored results
    folders: set[str]  # of data


def _in_use(client: mlflow.MlflowClient) -> _Kept:
    kept = _Kept(set(), set(), set(), set())
    for model in client.search_registered_models(max_results=1000):
        for number in set(map(str, model.aliases.values())):
            version = client.get_model_version(model.name, number)
            kept.versions.add((model.name, number))
            kept.runs.update(filter(None, [version.run_id, _source_run(client, version.model_id)]))
            kept.keys.update(filter(None, [version.tags.get(MODEL_KEY), version.tags.get(EVALUATION_KEY)]))
            kept.folders.update(filter(None, [version.tags.get(DATA_KEY)]))
            if number == str(model.aliases.get(CHAMPION)) and (before := version.tags.get(BEFORE)):
                kept.versions.add((model.name, before))
    for run in set(kept.runs):
        kept.runs.update(filter(None, [client.get_run(run).data.tags.get("mlflow.parentRunId")]))
    return kept


def _of_last_nights(records: Path, kept: _Kept) -> Iterator[str]:
    """The folders of the last nights of every name that serves: the next one holds out what their ledgers hold out, and
    goes on from their models. There are two, as the same data again are the same night again."""
    for name in {name for name, _ in kept.versions}:
        for night in read_nights(records / f"{name}.json")[-2:]:
            yield night.ledger
            yield from night.models.values()
            yield from (lineage.features for lineage in night.lineages.values())


def _source_run(client: mlflow.MlflowClient, model: str | None) -> str | None:
    return None if model is None else client.get_logged_model(model).source_run_id


def _versions(client: mlflow.MlflowClient, before: float, kept: _Kept) -> Iterator[tuple[Expired, Callable[[], None]]]:
    for version in client.search_model_versions(max_results=10_000):
        made = version.creation_timestamp / 1000
        if made >= before or (version.name, str(version.version)) in kept.versions:
            continue
        logged = client.get_logged_model(version.model_id) if version.model_id else None
        folder = None if logged is None else _local(logged.artifact_location)
        one = Expired("version", f"{version.name} {version.version}", _bytes(folder), (time.time() - made) / 86400)
        yield one, partial(_remove_version, client, version, folder)


def _runs(client: mlflow.MlflowClient, before: float, kept: _Kept) -> Iterator[tuple[Expired, Callable[[], None]]]:
    experiments = [one.experiment_id for one in client.search_experiments(max_results=10_000)]
    old = f"attributes.start_time < {int(before * 1000)}"
    for run in client.search_runs(experiments, old, max_results=10_000) if experiments else ():
        if run.info.run_id in kept.runs or run.info.status == "RUNNING":
            continue
        folder = _local(run.info.artifact_uri)
        age = (time.time() - run.info.start_time / 1000) / 86400
        one = Expired("run", f"{run.info.run_name} {run.info.run_id[:8]}", _bytes(folder), age)
        yield one, partial(_remove_run, client, run.info.run_id, folder)


def _crawls(folder: Path, before: float, kept: _Kept) -> Iterator[tuple[Expired, Path]]:
    """Crawls that no night has gone on with and nothing in service came from, whole; of others the pages of old nights,
    whose texts the crawl knows."""
    for crawl in sorted(folder.iterdir()) if folder.is_dir() else ():
        serves = any(name == crawl.name or name.endswith(f"-{crawl.name}") for name, _ in kept.versions)
        if (changed := _changed(crawl)) < before and not serves:
            yield Expired("crawl", crawl.name, _bytes(crawl), (time.time() - changed) / 86400), crawl
            continue
        for pages in sorted(crawl.rglob("*.warc.gz")):
            if (made := pages.stat().st_mtime) < before:
                name = f"{crawl.name} {pages.name}"
                yield Expired("pages", name, pages.stat().st_size, (time.time() - made) / 86400), pages


def _remove_version(client: mlflow.MlflowClient, version: ModelVersion, folder: Path | None) -> None:
    client.delete_model_version(version.name, str(version.version))
    if version.model_id:
        client.delete_logged_model(version.model_id)
    _remove_folder(folder)


def _remove_run(client: mlflow.MlflowClient, run: str, folder: Path | None) -> None:
    client.delete_run(run)
    _remove_folder(folder)


def _remove_folder(folder: Path | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _needed_folders(store: Path, kept: _Kept) -> set[str]:
    """The stored results with these keys, and all that they were made from."""
    by_key = {}
    for path in store.iterdir() if store.is_dir() else ():
        if (path / MANIFEST).is_file():
            by_key[path.name.partition("-")[2]] = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    needed, waiting = set(kept.folders), [key[:16] for key in kept.keys]
    waiting += [name.partition("-")[2] for name in kept.folders]
    seen: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        waiting += [value[:16] for value in _made_from(by_key.get(key, {})).values() if isinstance(value, str)]
    return needed | {path.name for path in store.iterdir() if path.name.partition("-")[2] in seen} if seen else needed


def _made_from(manifest: dict[str, Any]) -> dict[str, Any]:
    """The inputs of a result without those of earlier nights, of which it holds all that it needs."""
    if manifest.get("kind") in ("ledger", "growth"):
        return {}
    return {name: key for name, key in manifest.get("inputs", {}).items() if name != "parent"}


def _changed(path: Path) -> float:
    """When the folder was last filled."""
    return max((file.stat().st_mtime for file in path.rglob("*") if file.is_file()), default=path.stat().st_mtime)


def _bytes(folder: Path | None) -> int:
    if folder is None or not folder.exists():
        return 0
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _local(address: str) -> Path | None:
    """The folder of artifacts that lie on this machine; None of others."""
    parsed = urlparse(address)
    return Path(unquote(parsed.path)) if parsed.scheme in ("", "file") else None
