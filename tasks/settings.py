"""Settings from one TOML file (`tagflow.toml` here, or where TAGFLOW_CONFIG says) and TAGFLOW_... variables."""

import os
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource


class Settings(BaseSettings):
    """With nothing set everything is embedded: one state folder, sqlite, this process."""

    model_config = SettingsConfigDict(env_prefix="TAGFLOW_", extra="ignore", frozen=True)

    home: Path = Path(".tagflow")  # all state: data sets, models, registry, Prefect's database
    prefect: Literal["server", "ephemeral"] | str = "server"  # a small server kept between runs, or an API's address
    mlflow: str | None = None  # tracking and registry address; none is sqlite in the state folder
    threads: int = os.cpu_count() or 1

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = Path(os.environ.get("TAGFLOW_CONFIG", "tagflow.toml"))
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, file)

    @cached_property
    def state(self) -> Path:
        return self.home.expanduser().absolute()

    @property
    def data(self) -> Path:
        return self.state / "data"

    @property
    def tracking_uri(self) -> str:
        return self.mlflow or f"sqlite:///{self.state / 'mlflow.db'}"

    @property
    def artifacts(self) -> Path:
        return self.state / "mlartifacts"


def load_settings(**given: Any) -> Settings:
    """The settings, or a ValueError that names the one that is wrong."""
    try:
        return Settings(**{k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"setting {'.'.join(map(str, first['loc']))}={first['input']!r}: {first['msg']}") from error
