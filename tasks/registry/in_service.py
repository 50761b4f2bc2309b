"""What is in service, since when and why; and moves by hand: promotion of a version, and back to the one before."""

from dataclasses import dataclass
from datetime import UTC, datetime

import mlflow

from tasks.registry.client import CHAMPION, DATA_KEY, Registry, RegistryError, version_by_alias
from tasks.registry.writer import only_writer

SINCE, UNTIL, BEFORE, WHY = "service.since", "service.until", "service.before", "service.why"
WITHDRAWN = "service.withdrawn"  # when a rollback led away from the version; empty once a person has put it back


@dataclass(frozen=True)
class InService:
    """A registered model, and the version of it that answers."""

    name: str
    version: str | None
    label: str
    since: str
    why: str
    quality: str
    data: str
    versions: int


def put_into_service(
    client: mlflow.MlflowClient, name: str, version: str, why: str, *, going_back: bool = False
) -> None:
    """Moves the champion's alias, and notes on both versions when and why: MLflow keeps no history of aliases.

    A version that is gone back to keeps the one that was before it, so that a second step leads further back.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    before = version_by_alias(client, name, CHAMPION)
    if before is not None and str(before.version) == version:
        return
    if client.get_model_version(name, version).tags.get(WITHDRAWN):
        client.set_model_version_tag(name, version, WITHDRAWN, "")
    client.set_model_version_tag(name, version, SINCE, now)
    client.set_model_version_tag(name, version, WHY, why[:5000])
    if not going_back:
        client.set_model_version_tag(name, version, BEFORE, "" if before is None else str(before.version))
    client.set_registered_model_alias(name, CHAMPION, version)
    if before is not None:
        client.set_model_version_tag(name, str(before.version), UNTIL, now)


def promote_by_hand(registry: Registry, name: str, version: str) -> None:
    """Puts a version into service because a person says so; RegistryError where there is none such."""
    with registry.open() as client:
        client.get_model_version(name, version)
    with only_writer(registry, name) as writer:
        put_into_service(writer.client, name, version, "by hand")


def roll_back(registry: Registry, name: str) -> tuple[str, str]:
    """Puts the version before the champion back into service; gives the numbers of both, the old one first.

    The version that it leads away from is withdrawn: no night puts it into service again, a person may.
    """
    with registry.open() as client:
        client.get_registered_model(name)
    with only_writer(registry, name) as writer:
        champion = version_by_alias(writer.client, name, CHAMPION)
        if champion is None:
            raise RegistryError(f"{name}: no version is in service")
        before = champion.tags.get(BEFORE)
        if not before:
            raise RegistryError(
                f"{name}: version {champion.version} is the first in service, there is none to go back to"
            )
        why = f"rolled back from version {champion.version}"
        left = str(champion.version)
        writer.client.set_model_version_tag(name, left, WITHDRAWN, datetime.now(UTC).isoformat(timespec="seconds"))
        put_into_service(writer.client, name, before, why, going_back=True)
        return left, before


def last_withdrawal(registry: Registry, name: str) -> datetime | None:
    """When the last rollback of a name was whose version nobody has put back."""
    with registry.open() as client:
        versions = client.search_model_versions(f"name = '{name}'", max_results=1000)
    times = [datetime.fromisoformat(version.tags[WITHDRAWN]) for version in versions if version.tags.get(WITHDRAWN)]
    return max(times, default=None)


def models_in_service(registry: Registry) -> list[InService]:
    """Every registered model by name, with its champion if it has one."""
    with registry.open() as client:
        found = []
        for model in sorted(client.search_registered_models(max_results=1000), key=lambda one: one.name):
            versions = client.search_model_versions(f"name = '{model.name}'", max_results=1000)
            number = model.aliases.get(CHAMPION)
            champion = next((v for v in versions if str(v.version) == str(number)), None)
            tags = {} if champion is None else champion.tags
            found.append(
                InService(
                    name=model.name,
                    version=None if champion is None else str(champion.version),
                    label=tags.get("label", ""),
                    since=tags.get(SINCE, ""),
                    why=tags.get(WHY, ""),
                    quality=tags.get("quality", ""),
                    data=tags.get("source", tags.get(DATA_KEY, "")),
                    versions=len(versions),
                )
            )
        return found
