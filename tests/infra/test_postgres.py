"""The configuration of servers on a real PostgreSQL on loopback: Prefect's tables and flows, MLflow's registry."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from infra.stack.prefect_settings import QUIET
from tasks.registry.client import CHAMPION, Registry, version_by_alias
from tasks.registry.in_service import models_in_service, promote_by_hand

FLOW = """
from prefect import flow, task

@task
def two():
    return 2

@flow
def sums():
    return two() + two()

assert sums() == 4
"""


def programs() -> Path | None:
    """The folder of Debian's initdb and postgres, or what is on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [shutil.which("initdb") or ""]
    return Path(found[-1]).parent if str(found[-1]) else None


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """host:port of a server with the databases of infra/postgres-init.sql, which ends with the tests."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    folder = tmp_path_factory.mktemp("postgres")
    as_user = ["setpriv", "--reuid=nobody", "--clear-groups"] if os.getuid() == 0 else []
    if as_user:
        for path in (folder, *folder.parents[:2]):
            os.chmod(path, 0o755)
        shutil.chown(folder, "nobody")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    data = folder / "data"

    def run(*words):
        subprocess.run([*as_user, *words], check=True, capture_output=True)

    run(programs() / "initdb", "--pgdata", data, "--auth", "trust", "--username", "tagflow", "--no-sync")
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
    run(programs() / "pg_ctl", "--pgdata", data, "--options", options, "--log", folder / "log", "--wait", "start")
    try:
        psql = [programs() / "psql", "--host", "127.0.0.1", "--port", str(port), "--username", "tagflow"]
        run(*psql, "--dbname", "postgres", "--command", "create database prefect")
        init = Path(__file__).parents[2] / "infra" / "postgres-init.sql"
        run(*psql, "--dbname", "postgres", "--command", init.read_text())
        yield f"127.0.0.1:{port}"
    finally:
        run(programs() / "pg_ctl", "--pgdata", data, "--mode", "immediate", "--timeout", "600", "stop")


@pytest.mark.slow
def test_the_registry_on_postgresql(postgres, tmp_path):
    address = SecretStr(f"postgresql+psycopg2://tagflow@{postgres}/mlflow")
    registry = Registry(address, tmp_path / "artifacts", tmp_path / "writers")
    with registry.open() as client:
        client.create_registered_model("notes")
        client.create_model_version("notes", str(tmp_path), tags={"label": "KNN"})
    promote_by_hand(registry, "notes", "1")
    with registry.open() as client:
        assert version_by_alias(client, "notes", CHAMPION).version == 1
    (model,) = models_in_service(registry)
    assert (model.name, model.version, model.label) == ("notes", "1", "KNN")


@pytest.mark.slow
def test_prefect_runs_flows_on_postgresql(postgres, tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")} | QUIET
    environment |= {
        "PREFECT_HOME": str(tmp_path),
        "PREFECT_API_DATABASE_CONNECTION_URL": f"postgresql+asyncpg://tagflow@{postgres}/prefect",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300",
    }
    done = subprocess.run([sys.executable, "-c", FLOW], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    host, _, port = postgres.partition(":")
    words = ["--host", host, "--port", port, "--username", "tagflow", "--dbname", "prefect", "--tuples-only"]
    asked = [programs() / "psql", *words, "--command", "select state_name from flow_run"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split() == ["Completed"]
