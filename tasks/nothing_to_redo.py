"""A night that would redo nothing is known as such before Prefect and MLflow are imported, which takes ten seconds.

A finished night leaves a record of what it was made from, where its results lie and what it gave. While all of that is
as it was, and the model that it left in service still is, to run it again would give the same.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tagcore.readers.ratings import RatingsSource
from tagcore.readers.web.urls import is_url
from tagcore.store.datasets import MANIFEST, is_complete
from tagcore.store.files import write_text
from tasks.code_hash import code_hash
from tasks.data_settings import DataSettings
from tasks.naming import data_name, registered_name
from tasks.recipe import Recipe
from tasks.registry.local import champions_here
from tasks.settings import Settings

RECORD = "standing.json"  # beside the report of the night
IN_SERVICE = "it is the model in service already"


@dataclass(frozen=True)
class Result:
    """A stored result of the night: its folder's name in the store, its kind and its key."""

    folder: str
    kind: str
    key: str


@dataclass(frozen=True)
class StandingNight:
    """What a night gave, as `tagflow run --json` prints it, and as a person is told."""

    premises: str  # a hash of recipe, data and code
    results: list[Result]
    steps: list[list[str]]  # (title, remark)
    outcome: dict[str, Any]
    examples: list[str]


def premises_of(recipe: Recipe) -> str | None:
    """One hash over all that decides what a night gives; None where the data must be fetched to be known."""
    from tasks.crawl.crawl_run import is_url_list

    data = recipe.data_to_read
    if data.fetch or any(is_url(source) or is_url_list(Path(source)) for source in data.sources):
        return None
    told = [recipe.model_dump_json(), code_hash(), code_hash("tasks"), code_hash("flows"), *_fingerprints(data)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _fingerprints(data: DataSettings) -> list[str]:
    from tagcore.readers.open import source_fingerprint

    if data.made_up:  # by the code, as the recipe says
        return []
    if data.kind == "ratings":
        return [RatingsSource(data.only_source, **data.options).fingerprint()]
    return [source_fingerprint(Path(source), **data.options) for source in data.sources]


def results_in(folders: Iterable[Path]) -> list[Result]:
    """The results that these folders of the store hold, each once."""
    results = []
    for folder in dict.fromkeys(folders):
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        results.append(Result(folder.name, manifest["kind"], manifest["key"]))
    return results


def keep_record(folder: Path, night: StandingNight) -> None:
    """Writes the record of a night that has just ended beside its report."""
    write_text(folder / RECORD, json.dumps(asdict(night), indent=1, default=str))


def find_standing(recipe: Recipe, settings: Settings) -> StandingNight | None:
    """The night that this recipe would only repeat; None where there is work to do, or only a run can tell.

    That is so with a registry or a Prefect of one's own, where others may look for the run; and on a cluster.
    """
    if settings.mlflow is not None or settings.cluster != "none" or settings.prefect.startswith("http"):
        return None
    name = registered_name(recipe.name, data_name(recipe.data))
    night = _read(settings.report_folder(name) / RECORD)
    if night is None or not Path(night.outcome["page"]).is_file():
        return None
    champion = champions_here(settings.database).get(name)
    decision = night.outcome["decision"]
    left_in_service = decision["challenger"] if decision["promoted"] else decision["champion"]
    if champion is None or champion.version != left_in_service:
        return None
    if not all(is_complete(settings.data / result.folder, result.key, result.kind) for result in night.results):
        return None
    if night.premises != premises_of(recipe):
        return None
    if left_in_service == decision["challenger"]:
        again = decision | {"promoted": False, "reason": IN_SERVICE, "champion": left_in_service}
        night.outcome["decision"] = again
    return night


def _read(path: Path) -> StandingNight | None:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        results = [Result(**result) for result in stored.pop("results")]
        return StandingNight(**stored, results=results)
    except (OSError, ValueError, TypeError, KeyError):
        return None
