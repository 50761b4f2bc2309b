"""Errors from underneath: what a user can mend is one line, what nobody foresaw keeps its traceback."""

import errno
import sqlite3

import httpx
import pytest
from safetensors import SafetensorError

from infra.cli import main as cli
from infra.cli.user_errors import one_line_of
from infra.stack.prefect import PrefectServerError
from tasks.registry.client import RegistryError


def chained(outer, inner):
    """The outer error as it is when it was raised because of the inner one."""
    try:
        try:
            raise inner
        except Exception as error:
            raise outer from error
    except Exception as error:
        return error


FULL = OSError(errno.ENOSPC, "No space left on device", "state.safetensors")


@pytest.mark.parametrize(
    "error",
    [
        FULL,
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
        sqlite3.OperationalError("database or disk is full"),
        chained(RuntimeError("a\nlong\nstory"), FULL),
        chained(RegistryError("registry sqlite: it\nfailed"), sqlite3.OperationalError("database or disk is full")),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
    ],
)
def test_a_full_disk_is_one_line_wherever_it_was_noticed(error):
    line = one_line_of(error)
    assert line.startswith("no space is left on the disk")
    assert line.endswith("make room: what is finished stands, the same command goes on from there")
    assert "\n" not in line


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("All connection attempts failed"),
        httpx.ReadTimeout(""),
        RuntimeError("Failed to reach API at http://127.0.0.1:1/api/"),
        chained(RuntimeError("the flow\nfailed"), httpx.ConnectError("All connection attempts failed")),
        httpx.HTTPStatusError("500", request=httpx.Request("GET", "http://x"), response=httpx.Response(500)),
    ],
)
def test_a_prefect_that_went_away_is_one_line(error):
    line = one_line_of(error)
    assert line.startswith("Prefect's API no longer answers")
    assert "the same command goes on from there" in line
    assert "\n" not in line


@pytest.mark.parametrize("error", [ValueError("a: b"), PrefectServerError("did not start"), FloatingPointError("nan")])
def test_messages_for_users_stay_as_they_are(error):
    assert one_line_of(error) == str(error)


@pytest.mark.parametrize("error", [KeyError("x"), chained(TypeError("y"), ValueError("z"))])
def test_what_nobody_foresaw_keeps_its_traceback(error, monkeypatch):
    assert one_line_of(error) is None

    def fail():
        raise error

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(type(error)):
        cli.main()


def test_the_command_prints_one_line_and_fails(monkeypatch, capsys):
    def fail():
        raise httpx.ConnectError("All connection attempts failed")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
