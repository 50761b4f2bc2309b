"""Settings from one TOML file (`tagflow.toml` here, or where TAGFLOW_CONFIG says) and TAGFLOW_... variables."""

import os
import tomllib
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from tasks.setting_names import settings_beside
from tasks.state_folder import DEFAULT_HOME, config_file, database_in
from tasks.timezones import require_timezone

PREFIX = "TAGFLOW_"
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")  # that MLflow keeps a registry in
_PATHS = ("home", "root", "cluster_ca", "cluster_cert", "cluster_key")


class _SettingsFile(TomlConfigSettingsSource):
    """The TOML file. A relative path in it is meant from the file's folder, wherever a process that reads it stands."""

    def __call__(self) -> dict[str, Any]:
        given = super().__call__()
        found = {name: _beside_the_file(value) for name, value in given.items() if name in _PATHS}
        rivals = given.get("rivals")
        if isinstance(rivals, dict):  # a bare name is a command, which the system finds
            found["rivals"] = {
                name: _beside_the_file(python) if os.sep in str(python) else python for name, python in rivals.items()
            }
        return given | found


def _beside_the_file(path: Any) -> Any:
    """A local path as an absolute one; addresses, and what is no path, as they are."""
    if not isinstance(path, str) or not path or "://" in path:
        return path
    return str(config_file().absolute().parent / Path(path).expanduser())


class Settings(BaseSettings):
    """With nothing set everything is embedded: one state folder, sqlite, this process."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    home: Path = DEFAULT_HOME  # all state: data sets, models, registry, Prefect's database
    # a small server kept between runs, Prefect's own for each run, or an API's address
    prefect: str = Field("server", pattern=r"^(server|ephemeral|https?://\S+)$")
    mlflow: SecretStr | None = None  # tracking and registry address; none is sqlite in the state folder
    threads: int = Field(os.cpu_count() or 1, ge=1)
    cluster: str = "none"  # where training runs: a form of tasks.cluster.backends, which reads it
    root: str | None = None  # folder or fsspec URL that all workers reach; none is in the state folder
    memory: str = "auto"  # of each worker of local:N, such as 6GiB
    # of `tagflow up`: ports of its parts (0 is any free one), how many Dask workers, what its schedules read, and when
    prefect_port: int = Field(4200, ge=0, le=65535)
    mlflow_port: int = Field(5000, ge=0, le=65535)
    dask_port: int = Field(8786, ge=0, le=65535)
    dashboard_port: int = Field(8787, ge=0, le=65535)
    workers: int = Field(os.cpu_count() or 1, ge=0)
    source: str | None = None
    timezone: str | None = None  # such as Europe/Berlin; none is the machine's
    mlflow_page: str | None = None  # where a browser finds MLflow, for links; `tagflow up` sets it for its worker
    # who is told of a night that failed or was refused: JSON goes to an address, or to the input of a command
    notify_webhook: SecretStr | None = None
    notify_command: str | None = None
    cluster_ca: Path | None = None  # with the next two: the files to speak to a tls:// scheduler with
    cluster_cert: Path | None = None
    cluster_key: Path | None = None
    rivals: dict[str, Path] = {}  # name -> a Python that has this tagger of other people's, for recipes with rivals
    logins: dict[str, SecretStr] = {}  # host -> user:password, told to that host alone when a crawl asks it

    @field_validator("timezone")
    @classmethod
    def _is_a_timezone(cls, value: str | None) -> str | None:
        return require_timezone(value) if value else None

    @field_validator("prefect")
    @classmethod
    def _tells_no_login(cls, value: str) -> str:
        if "@" in urlsplit(value).netloc:  # it would be shown wherever the address is
            raise ValueError("an address without a login, which Prefect takes from PREFECT_API_AUTH_STRING")
        return value

    @field_validator("mlflow")
    @classmethod
    def _is_a_registry(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not (address := value.get_secret_value()):
            return None
        if not (_is_web_address(address) or _is_database(address)):
            raise ValueError(
                "expected the address of an MLflow server, such as http://host:5000, or of a database, such as "
                "sqlite:////srv/mlflow.db or postgresql://user:password@host/mlflow"
            )
        return value

    @field_validator("notify_webhook")
    @classmethod
    def _is_a_web_address(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not (address := value.get_secret_value()):
            return None
        if not _is_web_address(address):
            raise ValueError("expected an address that begins with http:// or https:// and a host")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _SettingsFile(settings_cls, config_file())

    @cached_property
    def state(self) -> Path:
        return self.home.expanduser().absolute()

    @property
    def data(self) -> Path:
        return self.state / "data"

    @property
    def tracking_uri(self) -> SecretStr:
        return self.mlflow or SecretStr(f"sqlite:///{self.database}")

    @property
    def database(self) -> Path:
        """The registry's, where no address is given."""
        return database_in(self.state)

    @property
    def cluster_root(self) -> str:
        """A folder, absolute as workers stand elsewhere, or a URL."""
        if self.root is None:
            return str(self.state / "cluster")
        return self.root if "://" in self.root else str(Path(self.root).expanduser().absolute())

    @property
    def artifacts(self) -> Path:
        return self.state / "mlartifacts"

    def report_folder(self, name: str) -> Path:
        """The folder of tables and plots of the latest run of this name."""
        return self.state / "reports" / name


def load_settings(**given: Any) -> Settings:
    """The settings, or a ValueError that names the one that is wrong."""
    if "TAGFLOW_CONFIG" in os.environ and not config_file().is_file():
        raise ValueError(f"TAGFLOW_CONFIG={config_file()}: no such file")
    given = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings(**given)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{config_file()}: not readable as TOML ({error})") from error
    except ValidationError as error:
        raise ValueError(_first_mistake(error, given)) from None  # which would show secrets


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and text.split() == [text]
    except ValueError:  # of a port that is no number
        return False


def _is_database(text: str) -> bool:
    from sqlalchemy.engine import make_url  # here: few settings name one
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(text).get_backend_name() in _DATABASES
    except (ArgumentError, ValueError):  # the latter of a port that is no number
        return False


def _first_mistake(error: ValidationError, given: Collection[str]) -> str:
    """Tells where the first wrong setting stands, its value unless it is a secret, and what was expected."""
    first = error.errors()[0]
    name, setting = str(first["loc"][0]), ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"{config_file()}: there is no setting {setting}; {settings_beside(Settings, first['loc'])}"
    variable = f"{PREFIX}{name}".upper()
    if name in given:
        place = f"setting {setting}"
    elif variable in (known.upper() for known in os.environ):
        place = variable
    else:
        place = f"{config_file()}: {setting}"
    is_secret = "SecretStr" in str(Settings.model_fields[name].annotation) or "@" in str(first["input"])
    value = " (a secret, not shown)" if is_secret else f"={first['input']!r}"
    return f"{place}{value}: {first['msg'].removeprefix('Value error, ')}"
