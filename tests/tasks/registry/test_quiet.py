"""The registry's own logging: what goes wrong comes out as one error, not also as a traceback on the terminal."""

import logging

import pytest
from pydantic import SecretStr
from sqlalchemy.exc import OperationalError

from tasks.registry.client import Registry, RegistryError


def fail_as_mlflow_does(registry):
    with registry.open():
        logging.getLogger("mlflow.store.db.utils").error("a long traceback")
        raise OperationalError("INSERT", {}, Exception("database or disk is full"))


def test_mlflow_logs_no_traceback_of_an_error_that_is_raised(tmp_path, caplog):
    with pytest.raises(RegistryError, match="disk is full"):
        fail_as_mlflow_does(Registry(SecretStr(f"sqlite:///{tmp_path / 'mlflow.db'}")))
    assert "a long traceback" not in caplog.text
