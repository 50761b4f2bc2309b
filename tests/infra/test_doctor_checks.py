"""What `tagflow doctor` looks at: each thing that would keep a run from working is bad, and the exit code says so."""

import importlib.metadata
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from infra.cli.doctor import doctor
from infra.doctor_checks import OTHER_VARIABLES, all_checks
from infra.process_setup import require_prefect
from infra.stack.prefect import PrefectServerError
from tasks.settings import Settings

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def prefect_check(monkeypatch, tmp_path):
    """What was found of Prefect at an address; the registry is out of reach in any case."""
    monkeypatch.setenv("TAGFLOW_MLFLOW", NOWHERE)

    def check(address):
        monkeypatch.setenv("TAGFLOW_PREFECT", address)
        return {c.name: c for c in all_checks(tmp_path)}["Prefect"]

    return check


@pytest.fixture
def answers():
    """Starts a server on loopback that gives one answer to everything; returns its address."""
    servers = []

    def start(status, kind, body=b"true"):
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        servers.append(HTTPServer(("127.0.0.1", 0), Answer))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/api"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_an_unreachable_prefect_is_bad(prefect_check):
    found = prefect_check(f"{NOWHERE}/api")
    assert found.state == "bad"
    assert f"Prefect's API at {NOWHERE}/api: cannot be reached" in found.found


def test_a_prefect_that_answers_is_well(prefect_check, answers):
    api = answers(200, "application/json")
    assert (prefect_check(api).state, prefect_check(api).found) == ("ok", f"{api} answers")
    assert prefect_check("ephemeral").state == "ok"


@pytest.mark.parametrize(
    ("status", "kind", "what"),
    [(404, "application/json", "status 404"), (503, "application/json", "status 503"), (200, "text/html", "a page")],
)
def test_what_is_no_prefect_api_is_named(answers, status, kind, what):
    with pytest.raises(PrefectServerError, match=f"{what} at /health, expected the address of an API"):
        require_prefect(answers(status, kind))


@pytest.mark.parametrize(
    ("address", "state", "found"),
    [
        ("none", "ok", "none: opened by each run"),
        ("local:2", "ok", "local:2: opened by each run"),
        ("tcp://127.0.0.1:9", "bad", "tcp://127.0.0.1:9: no scheduler answers there ("),
        ("tcp://127.0.0.1", "bad", "tcp://127.0.0.1: expected the address of a scheduler, such as tcp://HOST:8786"),
    ],
)
def test_a_cluster_is_asked(monkeypatch, prefect_check, tmp_path, address, state, found):
    monkeypatch.setenv("TAGFLOW_CLUSTER", address)
    check = {check.name: check for check in all_checks(tmp_path)}["cluster"]
    assert check.state == state
    assert check.found.startswith(found)


def test_the_exit_code_says_whether_a_run_would_work(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TAGFLOW_PREFECT", f"{NOWHERE}/api")
    with pytest.raises(SystemExit) as ended:
        doctor(tmp_path)
    assert ended.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith("✗")] == ["✗ Prefect"]


def test_a_package_that_is_not_here_is_bad(monkeypatch, prefect_check, tmp_path):
    version = importlib.metadata.version

    def without_fastapi(name):
        if name == "fastapi":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", without_fastapi)
    found = {c.name: c for c in all_checks(tmp_path)}["fastapi"]
    assert (found.state, found.found) == ("bad", "not installed: run `make setup`")


def test_a_mistyped_variable_is_named_and_keeps_nothing_from_working(monkeypatch, prefect_check, tmp_path):
    monkeypatch.setenv("TAGFLOW_THREAD", "2")
    monkeypatch.setenv("TAGFLOW_PREFECT_IDLE_HOURS", "1")
    odd = [check for check in all_checks(tmp_path) if check.state == "odd"]
    assert [check.name for check in odd] == ["TAGFLOW_THREAD"]
    assert odd[0].found == "there is no such setting, it is not read; perhaps TAGFLOW_THREADS is meant"


def test_every_variable_that_the_house_reads_is_known(monkeypatch, prefect_check, tmp_path):
    root = Path(__file__).parents[2]
    rooms = ("tagcore", "tasks", "flows", "infra", "tests/bench")
    files = [*(root / "tests").glob("*.py"), *(file for room in rooms for file in (root / room).rglob("*.py"))]
    named = {name for f in files for name in re.findall(r"TAGFLOW_[A-Z_]*[A-Z]", f.read_text(encoding="utf-8"))}
    assert {"TAGFLOW_GPYTORCH_PYTHON", "TAGFLOW_RIVALS_PYTHON", "TAGFLOW_EXAMPLES"} <= named
    known = OTHER_VARIABLES.union(f"TAGFLOW_{name.upper()}" for name in Settings.model_fields)
    assert named - known == set()
    monkeypatch.setenv("TAGFLOW_GPYTORCH_PYTHON", "/opt/python")
    assert [check.name for check in all_checks(tmp_path) if check.state == "odd"] == []


def test_a_wrong_setting_is_bad_in_one_line(monkeypatch, prefect_check, tmp_path):
    monkeypatch.setenv("TAGFLOW_TIMEZONE", "Mars/Base")
    found = {check.name: check for check in all_checks(tmp_path)}["configuration"]
    assert found.state == "bad"
    assert found.found.startswith("TAGFLOW_TIMEZONE='Mars/Base': expected the name of a time zone")
    assert "\n" not in found.found
