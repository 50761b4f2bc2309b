"""Tells people of a night that failed or was refused: a webhook, a command, or both; never the end of a run itself."""

import json
import logging
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tasks.settings import Settings

_SECONDS = 60
_log = logging.getLogger(__name__)


def notify(settings: Settings, event: str, about: dict[str, Any]) -> list[str]:
    """Sends {"event": ..., ...} as JSON to the webhook, and to the standard input of the command, where they are set.

    Gives what went wrong with it, which is logged, too: a night stands whether or not somebody could be told.
    """
    message = json.dumps({"event": event, **about}, default=str)
    failed = []
    if settings.notify_webhook is not None:
        failed += _post(settings.notify_webhook.get_secret_value(), message)
    if settings.notify_command is not None:
        failed += _run(settings.notify_command, message)
    for what in failed:
        _log.warning("nobody could be told of %s: %s", event, what)
    return failed


@contextmanager
def tell_of_failure(settings: Settings, name: str) -> Iterator[None]:
    """Notifies of an error that ends the night, and lets it go on its way."""
    try:
        yield
    except Exception as error:
        notify(settings, "failed", {"name": name, "error": f"{type(error).__name__}: {error}"})
        raise


def _post(address: str, message: str) -> list[str]:
    import httpx

    try:
        headers = {"content-type": "application/json"}
        httpx.post(address, content=message, headers=headers, timeout=_SECONDS).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return [f"the webhook: {type(error).__name__}"]  # its address may hold a secret, and so may the message
    return []


def _run(command: str, message: str) -> list[str]:
    try:
        done = subprocess.run(
            shlex.split(command), input=message, text=True, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [f"the command {command!r}: {error}"]
    return [f"the command {command!r} ended with {done.returncode}: {done.stderr[-500:]}"] if done.returncode else []
