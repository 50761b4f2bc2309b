"""The MLflow registry: where models are kept with their proofs, fetched from, and put into service."""

import fcntl
import json
import logging
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import mlflow
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from pydantic import SecretStr
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from tasks.registry.mlflow_pyfunc import FORMS

CHAMPION, CHALLENGER = "champion", "challenger"
MODEL_KEY, EVALUATION_KEY = "tagflow.model", "tagflow.evaluation"
TRAINING_KEY = "tagflow.training"  # a warm start or from nothing, and why
DATA_KEY = "tagflow.data"  # of versions: the stored folder of the data that they were made from


class RegistryError(ValueError):
    """The registry cannot be reached, or does not hold what was asked for."""


class RegistryBusy(RegistryError, OSError):
    """The registry did not answer this once: trying again may help."""


@dataclass(frozen=True)
class Registry:
    """A tracking and registry address, and the folder that holds artifacts where the address is a database.

    Writers of one name take turns by locks in the folder `writers`; to read, none is needed.
    """

    address: SecretStr  # of a database it may hold a password, and Prefect records what flows are given
    artifacts: Path | None = None
    writers: Path | None = None

    @property
    def uri(self) -> str:
        """The address in plain text."""
        return self.address.get_secret_value()

    @property
    def is_server(self) -> bool:
        """Whether MLflow's server is asked, not a database."""
        return urlsplit(self.uri).scheme in ("http", "https")

    @property
    def login(self) -> str:
        """User and password as they stand in the address of a server, to the @; empty where there are none."""
        login, at, _ = urlsplit(self.uri).netloc.rpartition("@")
        return login + at if self.is_server else ""

    def __str__(self) -> str:
        """The address as a person may read it: of a server without its login, of a database without the password."""
        if self.is_server:
            return self.uri.replace(self.login, "", 1)
        return make_url(self.uri).render_as_string(hide_password=True)

    @contextmanager
    def open(self) -> Iterator[mlflow.MlflowClient]:
        """A client; whatever goes wrong underneath comes out as one clear error."""
        logging.getLogger("mlflow").setLevel(logging.CRITICAL)  # it logs whole tracebacks of what comes out below
        logging.getLogger("alembic").setLevel(logging.ERROR)
        mlflow.set_tracking_uri(self.uri)
        mlflow.set_registry_uri(self.uri)
        try:
            create_database(self.uri)
            yield mlflow.MlflowClient()
        except (MlflowException, SQLAlchemyError) as error:
            busy = isinstance(error, MlflowException) and error.error_code == "TEMPORARILY_UNAVAILABLE"
            what = str(error).partition("\n")[0]  # the statement that failed follows
            told = f"registry {self}: {what.replace(self.login, '')}"  # MLflow tells the whole address, a log the cause
            raise (RegistryBusy if busy else RegistryError)(told) from (None if self.login else error)

    def experiment(self, client: mlflow.MlflowClient, name: str) -> str:
        experiment = client.get_experiment_by_name(name)
        if experiment is not None:
            return experiment.experiment_id
        place = None if self.artifacts is None else (self.artifacts / name).as_uri()
        return client.create_experiment(name, artifact_location=place)

    def fetch(self, uri: str) -> Path:
        """The stored folder behind a registered model such as models:/demo@champion."""
        with self.open():
            return stored_folder(Path(mlflow.artifacts.download_artifacts(artifact_uri=uri)))


def require_reachable(registry: Registry) -> None:
    """Fails at once, before any work, where the registry is out of reach."""
    import httpx

    if registry.is_server:
        try:
            httpx.get(registry.uri.rstrip("/") + "/health", timeout=5).raise_for_status()
        except httpx.HTTPError as error:
            # the text of a status has the whole address, with its login
            status = f"status {error.response.status_code}" if isinstance(error, httpx.HTTPStatusError) else None
            raise RegistryError(f"registry {registry}: cannot be reached ({status or error})") from None
    else:
        with registry.open() as client:
            client.search_experiments(max_results=1)


def create_database(uri: str) -> None:
    """An sqlite database that does not stand yet, by one run and by one rename.

    MLflow makes it table by table without a lock: two first runs at once, or one killed, would leave a ruin.
    """
    path = Path(uri.removeprefix("sqlite:///"))
    if not uri.startswith("sqlite:///") or path.exists():
        return
    with open(path.with_name(f".{path.name}.lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            for left in path.parent.glob(f".{path.name}.{'?' * 12}"):  # by one that was killed
                left.unlink()
            filling = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
            mlflow.MlflowClient(f"sqlite:///{filling}").search_experiments(max_results=1)
            os.rename(filling, path)


def stored_folder(model: Path) -> Path:
    """The tagger or recommender inside a downloaded MLflow model; its stored path may not lead out of it."""
    flavour = mlflow.models.Model.load(str(model)).flavors.get("python_function", {})
    artifacts = flavour.get("artifacts") or {}
    name = next((form.name for form in FORMS if form.name in artifacts), None)
    if name is None:
        raise RegistryError(f"{model}: not a {' or '.join(form.name for form in FORMS)} of tagflow")
    folder = (model / artifacts[name]["path"]).resolve()
    if model.resolve() not in folder.parents:
        raise RegistryError(f"{model}: its {name} lies outside of it, at {folder}")
    return folder


def version_by_alias(client: mlflow.MlflowClient, name: str, alias: str) -> ModelVersion | None:
    """None only where nothing bears the alias; a registry that fails raises, lest a champion be taken for missing."""
    version = client.get_registered_model(name).aliases.get(alias)
    return None if version is None else client.get_model_version(name, version)


def find_version(client: mlflow.MlflowClient, name: str, evaluation_key: str) -> ModelVersion | None:
    """The version that already carries this very evaluation of this very model."""
    versions = client.search_model_versions(f"name = '{name}'", max_results=1000)
    return next((v for v in versions if v.tags.get(EVALUATION_KEY) == evaluation_key), None)


def add_version(client: mlflow.MlflowClient, name: str, model: str, tags: dict[str, str], about: str) -> str:
    """The number of a new version of the registered model `name`, which is made with its first."""
    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    made = client.create_model_version(name, f"models:/{model}", tags=tags, description=about, model_id=model)
    return str(made.version)


def plain(value: Any) -> str:
    """A value as it is stored in a tag or parameter."""
    return value if isinstance(value, str) else json.dumps(value)


def champions(registry: Registry) -> list[str]:
    """The registered names that have a model in service."""
    with registry.open() as client:
        return sorted(m.name for m in client.search_registered_models(max_results=1000) if CHAMPION in m.aliases)
