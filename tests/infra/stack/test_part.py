"""A part of the stack: started once, repaired when it died, replaced when it is told something else, ended alone."""

import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from infra.stack.part import (
    Part,
    StackError,
    end_part,
    ensure_part,
    free_port,
    log_of,
    processes_marked,
    read_record,
)

# a server that has a child of its own in another session, as workers and nannies have
SERVER = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print("ready", child.pid, flush=True)
time.sleep(600)
"""


def part_at(folder: Path, word: str = "one", code: str = SERVER) -> Part:
    log = log_of(folder, "server")
    command = [sys.executable, "-c", code, word]
    return Part("server", "test server", command, dict(os.environ), "here", lambda: "ready" in log.read_text())


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    end_part(tmp_path, "server")


def child_of(folder: Path) -> int:
    return int(log_of(folder, "server").read_text().split()[1])


def test_a_part_is_started_once_and_ended_with_its_children(folder):
    said: list[str] = []
    assert ensure_part(part_at(folder), folder, say=said.append)
    record = read_record(folder, "server")
    assert not ensure_part(part_at(folder), folder, say=said.append)
    assert read_record(folder, "server") == record
    assert said == ["starting test server"]
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        child = child_of(folder)
        assert end_part(folder, "server")
        assert not psutil.pid_exists(record.process.pid)
        assert not psutil.pid_exists(child)
        assert bystander.poll() is None
        assert read_record(folder, "server") is None
        assert not end_part(folder, "server")
    finally:
        bystander.kill()
        bystander.wait()


def test_a_part_that_was_killed_is_repaired_and_what_it_left_is_ended(folder):
    said: list[str] = []
    ensure_part(part_at(folder), folder, say=said.append)
    first, child = read_record(folder, "server").process, child_of(folder)
    os.kill(first.pid, signal.SIGKILL)
    psutil.Process(first.pid).wait(10)
    assert psutil.pid_exists(child)
    assert ensure_part(part_at(folder), folder, say=said.append)
    assert f"test server: process {first.pid} died" in said
    assert read_record(folder, "server").process != first
    assert not psutil.pid_exists(child)


def test_a_part_that_is_told_something_else_is_replaced(folder):
    ensure_part(part_at(folder), folder, say=lambda line: None)
    before = read_record(folder, "server")
    assert ensure_part(part_at(folder, "two"), folder, say=lambda line: None)
    assert read_record(folder, "server").told != before.told
    assert before.process.find() is None


def test_variables_of_the_shell_replace_nothing_and_those_that_the_stack_chose_do(folder):
    part = replace(part_at(folder), given={"TAGFLOW_MLFLOW": "http://user:secret@here"})
    ensure_part(part, folder, say=lambda line: None)
    before = read_record(folder, "server")
    assert psutil.Process(before.process.pid).environ()["TAGFLOW_MLFLOW"] == "http://user:secret@here"
    assert "secret" not in (folder / "server.json").read_text()
    other_shell = replace(part, environment=part.environment | {"TAGFLOW_THREADS": "1"})
    assert not ensure_part(other_shell, folder, say=lambda line: None)
    assert read_record(folder, "server") == before
    assert ensure_part(replace(part, given={"TAGFLOW_MLFLOW": "http://there"}), folder, say=lambda line: None)


def test_what_is_due_before_a_start_is_done_when_the_old_process_has_ended(folder):
    seen = []

    def due() -> None:
        seen.append(before.process.find())

    ensure_part(part_at(folder), folder, say=lambda line: None)
    before = read_record(folder, "server")
    ensure_part(part_at(folder), folder, say=lambda line: None, before_start=due)
    assert seen == []
    ensure_part(part_at(folder, "two"), folder, say=lambda line: None, before_start=due)
    assert seen == [None]


def test_what_a_killed_part_left_is_found_by_its_mark_alone(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    ensure_part(part_at(folder), folder, say=lambda line: None)
    ensure_part(part_at(elsewhere), elsewhere, say=lambda line: None)
    assert len(processes_marked(f"{folder}/server")) == 2
    end_part(folder, "server")
    assert processes_marked(f"{folder}/server") == []
    assert len(processes_marked(f"{elsewhere}/server")) == 2
    end_part(elsewhere, "server")


def test_a_part_that_ends_while_starting_is_told_with_its_log(folder):
    broken = part_at(folder, code="print('no module named so'); raise SystemExit(3)")
    with pytest.raises(StackError, match=r"ended while starting; the end of its log .*\nno module named so"):
        ensure_part(broken, folder, say=lambda line: None)
    assert read_record(folder, "server") is None


def test_a_port_of_another_program_is_refused_by_name():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StackError, match=f"port {port} of mlflow_port is taken by another program"):
            free_port(port, "mlflow_port")
    assert free_port(0, "mlflow_port") > 0
