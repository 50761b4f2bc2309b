"""`tagflow doctor`: what is installed, configured and reachable."""

import sys

from infra.cli.console import Console
from infra.cli.options import HomeOption, JsonOption


def doctor(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Check this machine and its configuration: packages, settings, state folder, Prefect, the cluster, the registry.

    Exit code 0 if all is well, 1 if something would keep `tagflow run` from working.
    """
    from infra.doctor_checks import all_checks

    console = Console(as_json)
    checks = all_checks(home)
    if as_json:
        console.result({"checks": [vars(c) for c in checks]})
    else:
        marks = {"ok": "✓", "odd": "!", "bad": "✗"}
        for check in checks:
            print(f"{marks[check.state]} {check.name}: {check.found}")
    if any(c.state == "bad" for c in checks):
        sys.exit(1)
