"""`tagflow up`, `down`, `status`: the local processes that stay between runs."""

from infra.cli.console import Console
from infra.cli.options import HomeOption


def up(home: HomeOption = None) -> None:
    """Start the local Prefect server, if it does not run yet. `run` does this by itself."""
    from infra.stack.prefect import ensure_server
    from tasks.settings import load_settings

    server = ensure_server(load_settings(home=home).state, say=Console().say)
    print(f"Prefect at {server.url} (process {server.pid}), {'started' if server.started else 'already running'}")


def down(home: HomeOption = None) -> None:
    """Stop what `up` or `run` started: these processes and no others."""
    from infra.stack.prefect import stop_server
    from tasks.settings import load_settings

    print("Prefect stopped" if stop_server(load_settings(home=home).state) else "nothing was running")


def status(home: HomeOption = None) -> None:
    """What runs."""
    from infra.stack.prefect import server_status
    from tasks.settings import load_settings

    server = server_status(load_settings(home=home).state)
    print(f"Prefect at {server.url} (process {server.pid})" if server else "Prefect: not running; `run` starts it")
