"""The registry's own logging: what goes wrong comes out as one error, not also as a traceback on the terminal."""

import logging

import pytest
from sqlalchemy.exc import OperationalError

from tasks.registry.client import RegistryError
from tests.workspaces import registry_at


def fail_as_mlflow_does(registry):
    with registry.open():
        logging.getLogger("mlflow.store.db.utils").error("a long traceback")
        raise OperationalError("INSERT", {}, Exception("database or disk is full"))


def test_mlflow_logs_no_traceback_of_an_error_that_is_raised(tmp_path, caplog):
    with pytest.raises(RegistryError, match="disk is full"):
        fail_as_mlflow_does(registry_at(tmp_path))
    assert "a long traceback" not in caplog.text
