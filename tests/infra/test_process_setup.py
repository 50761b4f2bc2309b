"""Making a process ready for flows: what is left to the flow."""

import logging
import os

import pytest
from pydantic import SecretStr

from infra import process_setup
from infra.stack import prefect
from infra.stack.prefect import Server
from infra.stack.process import ProcessId
from tasks.settings import load_settings


def test_a_registry_out_of_reach_is_left_to_the_flow_which_tells_whoever_shall_hear(tmp_path, monkeypatch):
    monkeypatch.setattr(prefect, "connect", lambda server, home: None)
    monkeypatch.setattr("tagcore.precompile.is_compiled", lambda: True)
    settings = load_settings(home=tmp_path, mlflow=SecretStr("http://127.0.0.1:9"))
    process_setup._use_the_wait(settings, Server(ProcessId(os.getpid(), "0"), 9, "minimal", {}))


def test_a_cluster_out_of_reach_is_told_before_a_server_is_started(tmp_path, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    monkeypatch.setattr(prefect, "ensure_server", lambda *_, **__: pytest.fail("a server was started"))
    with pytest.raises(ConnectionError, match=r"tcp://127\.0\.0\.1:9: no scheduler answers there"):
        process_setup.prepare(tmp_path, print, "tcp://127.0.0.1:9")
