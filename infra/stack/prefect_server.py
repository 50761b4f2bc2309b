"""The local Prefect API server as a process: `python -m infra.stack.prefect_server`, see infra.stack.prefect.

Prefect's own `prefect server start --background` has the same settings, memory and speed, and would be less code. This
process is kept because it answers 1.7 to 6 times sooner (15 s against 45 s on a busy machine: Prefect's
command imports Prefect twice), because SQLite refused writes of three flows in eight there and none here, and for what
the command lacks: it ends when unused, its output goes to a log, its port cannot be taken between choice and use, and a
killed server does not keep the next from starting (`python -m tests.bench prefect`).
"""

import argparse
import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from prefect.server.api.server import create_app
from prefect.server.database.configurations import AioSqliteConfiguration
from prefect.server.database.dependencies import temporary_database_config
from prefect.settings import get_current_settings
from sqlalchemy.ext.asyncio import AsyncSession, AsyncSessionTransaction

from infra.stack.idle import IdleTracker, end_when_idle

GRACE_SECONDS = 3  # for open connections once asked to end


class QueuedWrites(AioSqliteConfiguration):
    """SQLite whose write transactions take the lock when they begin.

    Prefect's begin by reading, and one that then finds another writer's commit cannot go on: the request is
    answered 503 and the client sleeps for two seconds, at every other flow that follows tasks closely.
    """

    @asynccontextmanager
    async def begin_transaction(
        self, session: AsyncSession, with_for_update: bool = False
    ) -> AsyncGenerator[AsyncSessionTransaction, None]:
        async with super().begin_transaction(session, with_for_update=True) as transaction:
            yield transaction


async def serve(listener: socket.socket, idle_seconds: float, state: Path, log: Path) -> None:
    """Serve Prefect's API and pages on the listener until the server is unused, replaced or asked to end."""
    database = get_current_settings().server.database.connection_url
    assert database is not None
    with temporary_database_config(QueuedWrites(connection_url=database.get_secret_value())):
        activity = IdleTracker(create_app(final=True))
        server = uvicorn.Server(
            uvicorn.Config(
                activity,
                lifespan="on",
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        housekeeping = asyncio.create_task(
            end_when_idle(server, activity, idle_seconds=idle_seconds, state=state, log=log)
        )
        await server.serve(sockets=[listener])
        housekeeping.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listener", type=int, required=True, help="file descriptor of a listening socket")
    parser.add_argument("--idle-seconds", type=float, required=True, help="end when unused for so long; 0: never")
    parser.add_argument("--state", type=Path, required=True, help="file that names the current server")
    parser.add_argument("--log", type=Path, required=True, help="file that takes the output, kept short")
    arguments = parser.parse_args()
    listener = socket.socket(fileno=arguments.listener)
    asyncio.run(serve(listener, arguments.idle_seconds, arguments.state, arguments.log))


if __name__ == "__main__":
    main()
