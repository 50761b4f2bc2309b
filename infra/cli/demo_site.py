"""`tagflow demo-site`: the demonstration site, to be looked at, or to try the crawler on."""

import time
from typing import Annotated

import typer


def demo_site(
    port: Annotated[int, typer.Option(help="Where on 127.0.0.1 it is served; 0 is any that is free.")] = 8765,
    notes: Annotated[int, typer.Option(min=10, help="How many notes it has.")] = 500,
    night: Annotated[int, typer.Option(min=1, help="On later nights some notes are new, some changed, some gone.")] = 1,
    faults: Annotated[bool, typer.Option("--faults", help="Also serve what a crawler must survive.")] = False,
) -> None:
    """Serve a made-up bookmarking site on this machine: pages, a feed, a sitemap, people who tag; ends with Ctrl-C."""
    from tasks.demo_site.server import served
    from tasks.demo_site.site import DemoSite

    with served(DemoSite(notes, night=night, faults=faults), port) as address:
        print(f"{address}/: {notes:,} notes; crawl it with: tagflow ingest {address}/ --allow-local", flush=True)
        while True:
            time.sleep(3600)
