"""The end of a background server that nobody uses any more or that was replaced, and the length of its log."""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, Protocol

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG_LIMIT = 2_000_000  # bytes
CHECK_SECONDS = 10.0


class Stoppable(Protocol):
    """A uvicorn server, as far as it matters here."""

    started: bool
    should_exit: bool


class IdleTracker:
    """An ASGI application that passes everything on and knows how long nobody has used it.

    A web socket that stays open counts as use: a flow in the middle of a long task sends nothing else.
    """

    def __init__(self, app: Application) -> None:
        self.app = app
        self.open = 0
        self.last = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_and_note(message: MutableMapping[str, Any]) -> None:
            self.last = time.monotonic()
            await send(message)

        counted = scope["type"] != "lifespan"  # which lasts as long as the server
        self.open += counted
        try:
            await self.app(scope, receive, send_and_note)
        finally:
            self.open -= counted
            self.last = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        """How long ago the last connection ended; 0 while one is open."""
        return 0.0 if self.open else time.monotonic() - self.last


async def end_when_idle(
    server: Stoppable, activity: IdleTracker, *, idle_seconds: float, state: Path, log: Path
) -> None:
    """End the server once nobody has used it for `idle_seconds` (0: never) or `state` names another process."""
    while not server.should_exit:
        await asyncio.sleep(min(CHECK_SECONDS, idle_seconds / 4 or CHECK_SECONDS))
        shorten_log(log, LOG_LIMIT)
        unused = server.started and 0 < idle_seconds < activity.idle_seconds
        server.should_exit = unused or not names_this_process(state)


def names_this_process(state: Path) -> bool:
    """Whether the state file of a server names the process that asks."""
    try:
        return bool(json.loads(state.read_text())["pid"] == os.getpid())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def shorten_log(log: Path, limit: int) -> None:
    """Cut a log above `limit` bytes to its newer half, in place: its writers hold it open for appending."""
    if not log.exists() or log.stat().st_size <= limit:
        return
    with log.open("rb") as old:
        old.seek(-(limit // 2), os.SEEK_END)
        old.readline()
        newer = old.read()
    log.write_bytes(newer)
